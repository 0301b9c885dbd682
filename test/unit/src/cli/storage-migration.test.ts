/*
 * Goal: a migration updates every object once, whatever happens to the collection in the meantime,
 * and changes the definition only if it succeeded for all of them.
 * Method: the shipped migration against a made-up API whose objects know their stored version.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../../fixtures/system.ts'
import type { ApiCall, ApiReply } from '../../../../src/cli/api-client.ts'
import { CliError } from '../../../../src/cli/errors.ts'
import { StorageMigration } from '../../../../src/cli/storage-migration.ts'
import type { MigrationResult } from '../../../../src/cli/storage-migration.ts'
import { storageTargets, storedDefinition } from '../../../../src/cli/storage-targets.ts'
import type { StorageTarget } from '../../../../src/cli/storage-targets.ts'

const DEFINITIONS = '/apis/apiextensions.orch.io/v1/customresourcedefinitions'
const GADGETS = '/apis/example.com/v2/gadgets'

type Stored = { readonly name: string; readonly uid: string; version: number; storedIn: 'v1' | 'v2' }

/** A server with gadgets, of which `v2` is the storage version. */
class FakeApi {
  readonly objects = new Map<string, Stored>()
  readonly patched: string[] = []
  storedVersions = ['v1', 'v2']
  generation = 2
  /** Called before each call; it may return the reply. */
  before: (call: ApiCall) => ApiReply | null = () => null
  #revision = 100

  constructor(count: number) {
    for (let at = 0; at < count; at++) this.add(`g${String(at).padStart(3, '0')}`, 'v1')
  }

  add(name: string, storedIn: 'v1' | 'v2'): void {
    this.objects.set(name, { name, uid: `uid-${name}`, version: ++this.#revision, storedIn })
  }

  definition(): Readonly<Record<string, unknown>> {
    const version = (name: string) => ({ name, served: true, storage: name === 'v2' })
    return {
      metadata: { name: 'gadgets.example.com', uid: 'd', generation: this.generation, resourceVersion: '7' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'gadgets' },
        versions: [version('v1'), version('v2')],
      },
      status: { storedVersions: this.storedVersions },
    }
  }

  async object(call: ApiCall): Promise<Readonly<Record<string, unknown>>> {
    const { status, body } = await this.call(call)
    if (status >= 300) throw new CliError('failed', `${call.path}: ${status}`)
    return body
  }

  call(call: ApiCall): Promise<ApiReply> {
    return Promise.resolve(this.before(call) ?? this.#reply(call))
  }

  #reply({ method, path, body }: ApiCall): ApiReply {
    const url = new URL(path, 'https://a.example')
    if (url.pathname === `${DEFINITIONS}/gadgets.example.com/status`) {
      const { status } = body as { readonly status: { readonly storedVersions: string[] } }
      this.storedVersions = status.storedVersions
      return { status: 200, body: this.definition() }
    }
    if (url.pathname === DEFINITIONS) return { status: 200, body: { items: [this.definition()] } }
    if (url.pathname.startsWith(DEFINITIONS)) return { status: 200, body: this.definition() }
    if (method === 'GET' && url.pathname === GADGETS) return { status: 200, body: this.#page(url) }
    const object = this.objects.get(url.pathname.split('/').at(-1) ?? '')
    if (object === undefined) return { status: 404, body: { message: 'not found' } }
    this.patched.push(object.name)
    if (url.searchParams.get('dryRun') === null && object.storedIn === 'v1') {
      object.storedIn = 'v2'
      object.version = ++this.#revision
    }
    return { status: 200, body: { metadata: metadataOf(object) } }
  }

  #page(url: URL): Readonly<Record<string, unknown>> {
    const after = url.searchParams.get('continue') ?? ''
    const limit = Number(url.searchParams.get('limit'))
    const all = [...this.objects.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    const behind = all.filter(({ name }) => name > after)
    const page = behind.slice(0, limit)
    const last = page.at(-1)?.name ?? ''
    return {
      metadata: behind.length > limit ? { continue: last } : {},
      items: page.map((object) => ({ metadata: metadataOf(object) })),
    }
  }
}

function metadataOf({ name, uid, version }: Stored): Readonly<Record<string, unknown>> {
  return { name, namespace: 'default', uid, resourceVersion: String(version) }
}

const options = { dryRun: false, pageSize: 10, rate: 100_000, concurrency: 4, metaGroup: 'meta.orch.io' }

function migrate(
  api: FakeApi,
  more: Partial<typeof options> = {},
  stop = () => false,
): Promise<MigrationResult> {
  const target: StorageTarget = {
    ...{ resource: 'gadgets.example.com', path: GADGETS, isNamespaced: true, storedAs: 'example.com/v2' },
    definition: storedDefinition(api.definition(), DEFINITIONS),
  }
  const dependencies = { client: api, clock: systemClock, progress: () => undefined, isInterrupted: stop }
  return new StorageMigration(target, { ...options, ...more }, dependencies).run()
}

const storedIn = (api: FakeApi): readonly string[] => [
  ...new Set([...api.objects.values()].map((object) => object.storedIn)),
]

void test('every object is updated once, and only the storage version is left in the definition', async () => {
  const api = new FakeApi(35)
  api.add('z', 'v2')
  const result = await migrate(api)
  const { outcome, objects, written, failed, storedVersions } = result
  assert.deepEqual([outcome, objects, written, failed, storedVersions], ['migrated', 36, 35, 0, ['v2']])
  assert.deepEqual([storedIn(api), api.storedVersions, api.patched.length], [['v2'], ['v2'], 36])
  const again = await migrate(api)
  assert.deepEqual([again.outcome, again.written], ['migrated', 0])
})

void test('a dry run updates nothing and leaves the definition as it is', async () => {
  const api = new FakeApi(5)
  const { outcome, objects, written } = await migrate(api, { dryRun: true })
  assert.deepEqual([outcome, objects, written], ['checked', 5, 0])
  assert.deepEqual([storedIn(api), api.storedVersions], [['v1'], ['v1', 'v2']])
})

void test('objects that are created or deleted in the meantime are neither missed nor failures', async () => {
  const api = new FakeApi(30)
  let calls = 0
  api.before = () => {
    calls++
    if (calls === 3) api.objects.delete('g005')
    // The name `a-late` sorts before all others, so the current pass does not list it.
    if (calls === 20) api.add('a-late', 'v1')
    return null
  }
  const { outcome, gone } = await migrate(api)
  assert.deepEqual([outcome, gone, storedIn(api)], ['migrated', 1, ['v2']])
  assert.ok(api.patched.includes('a-late'))
})

void test('an object that is refused is reported, and the definition stays as it is', async () => {
  const api = new FakeApi(12)
  api.before = ({ method, path }) =>
    method === 'PATCH' && path.endsWith('g003') ? { status: 422, body: { message: 'it is invalid' } } : null
  const { outcome, failed, failures, storedVersions } = await migrate(api)
  assert.deepEqual([outcome, failed, failures], ['failed', 1, ['default/g003: it is invalid']])
  assert.deepEqual(
    [storedVersions, api.storedVersions],
    [
      ['v1', 'v2'],
      ['v1', 'v2'],
    ],
  )
})

void test('when every object is refused, the migration ends early', async () => {
  const api = new FakeApi(1000)
  api.before = ({ method }) => (method === 'PATCH' ? { status: 403, body: { message: 'no' } } : null)
  const { outcome, failed, failures } = await migrate(api)
  assert.deepEqual([outcome, failures.length], ['failed', 10])
  assert.ok(failed < 30)
})

void test('a list that expires goes on with the newest state', async () => {
  const api = new FakeApi(25)
  let isExpired = false
  api.before = ({ method, path }) => {
    if (method !== 'GET' || !path.includes('continue=g009') || isExpired) return null
    isExpired = true
    return { status: 410, body: { metadata: { continue: 'g008' }, message: 'too old' } }
  }
  const { outcome } = await migrate(api)
  assert.deepEqual([outcome, storedIn(api), isExpired], ['migrated', ['v2'], true])
})

void test('a definition that changes during the migration is not declared migrated', async () => {
  const api = new FakeApi(3)
  api.before = ({ method }) => {
    if (method === 'PATCH') api.generation = 3
    return null
  }
  await assert.rejects(
    migrate(api),
    /the definition of gadgets\.example\.com was changed .*: run the command again/,
  )
  assert.deepEqual(api.storedVersions, ['v1', 'v2'])
})

void test('a conflict about the status is retried, and an interruption leaves the definition as it is', async () => {
  const api = new FakeApi(3)
  let conflicts = 0
  api.before = ({ path }) =>
    path.endsWith('/status') && conflicts++ === 0 ? { status: 409, body: { message: 'modified' } } : null
  assert.equal((await migrate(api)).outcome, 'migrated')
  assert.equal(conflicts, 2)
  const other = new FakeApi(30)
  let pages = 0
  const stopped = await migrate(other, {}, () => pages++ > 2)
  assert.equal(stopped.outcome, 'interrupted')
  assert.deepEqual(other.storedVersions, ['v1', 'v2'])
})

/** Discovery of built-in kinds, of which events are served in two groups. */
const discovery: Readonly<Record<string, unknown>> = {
  '/apis': {
    groups: ['apiextensions.k8s.io/v1', 'events.k8s.io/v1', 'apps/v1'].map((groupVersion) => ({
      versions: [{ groupVersion }],
    })),
  },
  '/api/v1': {
    groupVersion: 'v1',
    resources: [
      {
        name: 'events',
        kind: 'Event',
        namespaced: true,
        storageVersionHash: 'r2yiGXH7wu8=',
        verbs: ['list', 'patch'],
      },
      { name: 'events/status', kind: 'Event', namespaced: true, verbs: ['patch'] },
      {
        name: 'nodes',
        kind: 'Node',
        namespaced: false,
        storageVersionHash: 'XwShjMxG9Fs=',
        verbs: ['list', 'patch'],
      },
    ],
  },
  '/apis/events.k8s.io/v1': {
    groupVersion: 'events.k8s.io/v1',
    resources: [
      {
        name: 'events',
        kind: 'Event',
        namespaced: true,
        storageVersionHash: 'r2yiGXH7wu8=',
        verbs: ['list', 'patch'],
      },
    ],
  },
  '/apis/apps/v1': { groupVersion: 'apps/v1', resources: [] },
  '/apis/apiextensions.k8s.io/v1': { groupVersion: 'apiextensions.k8s.io/v1', resources: [] },
}

void test('resources are found by the name that kubectl has for them, and kinds with several versions or groups by --all', async () => {
  const crd = new FakeApi(0).definition()
  const client = {
    object: ({ path }: ApiCall) =>
      Promise.resolve(
        path === '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
          ? { items: [crd] }
          : ((discovery[path] ?? {}) as Readonly<Record<string, unknown>>),
      ),
  }
  const named = (...names: readonly string[]) => storageTargets(client, { names, all: false })
  const all = await storageTargets(client, { names: [], all: true })
  assert.equal(all.metaGroup, 'meta.k8s.io')
  assert.deepEqual(
    all.targets.map(({ resource, path, storedAs }) => [resource, path, storedAs]),
    [
      ['gadgets.example.com', GADGETS, 'example.com/v2'],
      ['events', '/api/v1/events', 'v1'],
    ],
  )
  assert.equal((await named('gadgets')).targets[0]?.resource, 'gadgets.example.com')
  assert.equal((await named('nodes')).targets[0]?.path, '/api/v1/nodes')
  await assert.rejects(named('widgets'), /no resource is named widgets/)
})
