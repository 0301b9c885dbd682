/*
 * Goal: a release is installed, upgraded, rolled back and uninstalled by the requests of helm 4,
 * which uses server-side apply. No package that the tests can install contains helm 4 yet;
 * `e2e/helm` runs a real helm 3.
 * Method: the requests in their order, over HTTP on the shipped server, verbs and machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpecServer, namesIn, objectOf } from '../support/fixtures/spec-server.ts'
import type { Doc, Reply } from '../support/fixtures/spec-server.ts'

const NS = '/api/v1/namespaces/default'
const APPLY = 'application/apply-patch+yaml'

type Manifest = Record<string, unknown> & {
  readonly kind: string
  readonly metadata: { readonly name: string }
}

const paths: Readonly<Record<string, string>> = {
  ConfigMap: `${NS}/configmaps`,
  Secret: `${NS}/secrets`,
  Lease: '/apis/coordination.orch.io/v1/namespaces/default/leases',
}

function pathOf({ kind, metadata }: Manifest): string {
  return `${paths[kind] ?? ''}/${metadata.name}`
}

/** The objects of a chart, as helm renders them. */
function manifests(greeting: string, withLease: boolean): readonly Manifest[] {
  const metadata = {
    name: 'web',
    labels: { 'app.orch.io/managed-by': 'Helm' },
    annotations: { 'meta.helm.sh/release-name': 'web', 'meta.helm.sh/release-namespace': 'default' },
  }
  const lease = {
    ...{ apiVersion: 'coordination.orch.io/v1', kind: 'Lease', metadata },
    spec: { holderIdentity: 'web' },
  }
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { password: greeting } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { greeting } },
    ...(withLease ? [lease] : []),
  ]
}

class Release {
  readonly #api: SpecServer
  #version = 0

  constructor(api: SpecServer) {
    this.#api = api
  }

  /**
   * Stores the next version of the release, applies its objects, and deletes the objects of the
   * version before that are not in it.
   */
  async deploy(
    next: readonly Manifest[],
    before: readonly Manifest[],
    force: boolean,
  ): Promise<readonly Reply[]> {
    const version = ++this.#version
    const name = `sh.helm.release.v1.web.v${version}`
    const labels = { owner: 'helm', name: 'web', version: String(version), status: 'pending-install' }
    const secret = objectOf('Secret', name, {
      ...{ metadata: { labels }, type: 'helm.sh/release.v1', data: { release: 'SDRzSUFBQT0=' } },
    })
    const stored = await this.#api.ask('POST', `${NS}/secrets`, { body: secret })
    assert.equal(stored.status, 201, stored.text)
    const replies: Reply[] = []
    for (const manifest of next) {
      const query = `?fieldManager=helm&fieldValidation=Strict&force=${force}`
      replies.push(await this.#api.ask('PATCH', pathOf(manifest) + query, { body: manifest, type: APPLY }))
    }
    const kept = new Set(next.map(pathOf))
    for (const path of before.map(pathOf).filter((one) => !kept.has(one))) {
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
      assert.equal((await this.#api.ask('DELETE', path, { body })).status, 200)
    }
    const deployed = { ...secret, metadata: { name, labels: { ...labels, status: 'deployed' } } }
    const updated = await this.#api.ask('PUT', `${NS}/secrets/${name}`, { body: deployed })
    assert.equal(updated.status, 200, updated.text)
    return replies
  }

  async history(): Promise<readonly string[]> {
    const query = '?labelSelector=name%3Dweb%2Cowner%3Dhelm%2Cstatus%3Ddeployed'
    return namesIn((await this.#api.ask('GET', `${NS}/secrets${query}`)).doc)
  }
}

function codes(replies: readonly Reply[]): readonly number[] {
  return replies.map(({ status }) => status)
}

function managersOf({ metadata }: Doc): readonly string[] {
  const fields = (
    metadata as { managedFields?: readonly { manager: string; operation: string }[] } | undefined
  )?.managedFields
  return (fields ?? []).map(({ manager, operation }) => `${manager} ${operation}`).sort()
}

void test('a release is installed, upgraded, rolled back and uninstalled by the requests of helm 4', async (t) => {
  const api = await SpecServer.start(t)
  const release = new Release(api)
  const config = async (): Promise<Doc> => (await api.ask('GET', `${NS}/configmaps/web`)).doc
  const one = manifests('hello', true)
  assert.deepEqual(codes(await release.deploy(one, [], false)), [201, 201, 201])
  assert.deepEqual(managersOf(await config()), ['helm Apply'])

  // Deploying the same manifests again changes nothing.
  const { resourceVersion } = (await config()).metadata ?? {}
  assert.deepEqual(codes(await release.deploy(one, one, false)), [200, 200, 200])
  assert.equal((await config()).metadata?.resourceVersion, resourceVersion)

  // Another manager has changed a field: a conflict, which helm --force-conflicts overrides.
  const edit = { data: { greeting: 'edited', extra: 'kept' } }
  const edited = await api.ask('PATCH', `${NS}/configmaps/web?fieldManager=kubectl-edit`, {
    ...{ body: edit, type: 'application/merge-patch+json' },
  })
  assert.equal(edited.status, 200)
  const two = manifests('bye', false)
  const [, conflict] = await release.deploy(two, one, false)
  assert.deepEqual([conflict?.status, conflict?.doc.reason], [409, 'Conflict'])
  assert.match(conflict?.doc.message ?? '', /conflict with "kubectl-edit".*\.data\.greeting/s)
  assert.deepEqual(codes(await release.deploy(two, [], true)), [200, 200])
  assert.deepEqual((await config()).data, { greeting: 'bye', extra: 'kept' })
  assert.equal((await api.ask('GET', pathOf(one[2] ?? assert.fail('a lease')))).status, 404)

  // A rollback applies the older objects again.
  assert.deepEqual(codes(await release.deploy(one, two, false)), [200, 200, 201])
  assert.deepEqual((await config()).data, { greeting: 'hello', extra: 'kept' })
  assert.equal((await release.history()).length, 5)

  const unknown = { ...(one[1] ?? assert.fail('a config map')), dta: {} }
  const query = '?fieldManager=helm&fieldValidation=Strict&force=true&dryRun=All'
  const refused = await api.ask('PATCH', pathOf(unknown) + query, { body: unknown, type: APPLY })
  assert.equal(refused.status, 400, 'a field that the kind does not have')

  for (const manifest of one) {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' }
    assert.equal((await api.ask('DELETE', pathOf(manifest), { body })).status, 200)
    assert.equal((await api.ask('DELETE', pathOf(manifest), { body })).status, 404)
  }
  for (const name of await release.history()) await api.ask('DELETE', `${NS}/secrets/${name}`)
  assert.deepEqual(namesIn((await api.ask('GET', `${NS}/secrets`)).doc), [])
})
