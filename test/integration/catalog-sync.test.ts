/*
 * Goal: a kind that was just defined through another member is found, and requests for unknown
 * kinds cost little. Method: the real server and the real read barrier; the test controls the
 * leader's answers and when definitions are added to the catalog.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { logIndex } from '../../raft/core/types.ts'
import { ReadBarrier } from '../../raft/node/read-barrier.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import type { Catalog } from '../../src/registry/kinds/catalog.ts'
import type { AnyObject } from '../../src/registry/kinds/definition.ts'
import { defaultRegistryLimits } from '../../src/registry/shared/registry-limits.ts'
import { CatalogSync } from '../../src/registry/kinds/catalog-sync.ts'
import { openApiDocuments } from '../../src/server/openapi/documents.ts'
import { StoreError } from '../../src/store/store-errors.ts'
import { customKind } from '../support/fixtures/custom-kind.ts'
import { FakeRegistry } from '../support/fakes/fake-registry.ts'
import { ADMIN, NOBODY, serverAround } from '../../fixtures/server-fixture.ts'
import { systemClock } from '../../fixtures/system.ts'
import { until } from '../support/fixtures/tls-server.ts'

const tabs = customKind({ group: 'stable.example.com', plural: 'crontabs', kind: 'CronTab' })

type Leader = {
  /** Answers a round, or does not. */
  readonly answer: (confirm: () => void) => void
  /** Adds the applied definitions to the catalog. */
  readonly takeIn?: (catalog: Catalog) => Promise<void>
  readonly waitMs?: number
  readonly waitsMax?: number
}

async function start(t: TestContext, { answer, takeIn, waitMs, waitsMax }: Leader) {
  const { registry } = new FakeRegistry()
  const { catalog } = registry
  let [rounds, waits] = [0, 0]
  const barrier = new ReadBarrier({
    ...{ clock: systemClock, waitersMax: 1000, roundsMax: 1, retryMs: 10_000, sweepMs: 20 },
    send: (round) => {
      rounds++
      answer(() => barrier.answered(round, logIndex(1)))
    },
  })
  barrier.appliedUpTo(logIndex(1))
  const catalogSync = new CatalogSync({
    store: {
      barrier: async (deadlineMs) => {
        waits++
        try {
          await barrier.wait(deadlineMs)
        } catch (cause) {
          throw new StoreError('timed-out', 'no quorum', { cause })
        }
      },
    },
    clock: systemClock,
    definitionsApplied: () => takeIn?.(catalog) ?? Promise.resolve(),
    limits: {
      unknownKindWaitMs: waitMs ?? defaultRegistryLimits.unknownKindWaitMs,
      unknownKindWaitsMax: waitsMax ?? defaultRegistryLimits.unknownKindWaitsMax,
    },
  })
  const turn = (): Promise<void> => Promise.resolve()
  const openapi = openApiDocuments({ catalog, names: namesOf('k8s.io'), version: 'v1', turn }, true)
  const { server } = await serverAround({ ...registry, catalogSync }, { openapi })
  t.after(async () => {
    barrier.stop()
    await server.drain({ shutdownDelayMs: 0, graceMs: 0 })
  })
  const get = (url: string, headers: Record<string, string> = ADMIN) =>
    server.app.inject({ method: 'GET', url, headers })
  const send = (method: 'GET' | 'POST', url: string) => server.app.inject({ method, url, headers: ADMIN })
  return { get, send, catalog, rounds: () => rounds, waits: () => waits }
}

/** A leader that answers no round until `letGo` is called. */
function held(): Pick<Leader, 'answer' | 'waitMs'> & { readonly letGo: () => void } {
  const waiting: (() => void)[] = []
  let isHeld = true
  return {
    answer: (confirm) => {
      if (isHeld) waiting.push(confirm)
      else setImmediate(confirm)
    },
    waitMs: 60_000,
    letGo: () => {
      isHeld = false
      for (const confirm of waiting) confirm()
    },
  }
}

const OBJECTS = '/apis/stable.example.com/v1/namespaces/default/crontabs'
const ACROSS = '/apis/stable.example.com/v1/crontabs'

const V3 = '/openapi/v3/apis/stable.example.com/v1'
for (const url of [
  OBJECTS,
  `${OBJECTS}/one`,
  '/apis/stable.example.com',
  '/apis/stable.example.com/v1/',
  V3,
]) {
  void test(`a newly defined kind is served: ${url}`, async (t) => {
    let taken = 0
    const { get, rounds } = await start(t, {
      answer: (confirm) => setImmediate(confirm),
      takeIn: async (catalog) => {
        await sleep(5)
        taken++
        catalog.setCustom([tabs])
      },
    })
    assert.equal((await get(url)).statusCode, 200)
    assert.deepEqual([rounds(), taken], [1, 1])
    // A known kind needs no read round.
    assert.equal((await get(url)).statusCode, 200)
    assert.equal((await get('/api/v1/configmaps')).statusCode, 200)
    assert.deepEqual([rounds(), taken], [1, 1])
  })
}

const status = {
  name: 'status',
  verbs: ['get', 'patch', 'update'],
  prepareForUpdate: (sent: AnyObject) => sent,
} as const
for (const [what, before, now, method, url] of [
  ['a subresource', tabs, { ...tabs, subresources: [status] }, 'GET', `${OBJECTS}/one/status`],
  ['objects that are namespaced now', { ...tabs, scope: 'Cluster' }, tabs, 'GET', OBJECTS],
  ['objects that are cluster-scoped now', tabs, { ...tabs, scope: 'Cluster' }, 'GET', `${ACROSS}/one`],
  ['new objects that are cluster-scoped now', tabs, { ...tabs, scope: 'Cluster' }, 'POST', ACROSS],
] as const) {
  void test(`a new version of a definition is served: ${what}`, async (t) => {
    const { send, catalog, rounds } = await start(t, {
      answer: (confirm) => setImmediate(confirm),
      takeIn: (catalog) => Promise.resolve(void catalog.setCustom([now])),
    })
    catalog.setCustom([before])
    assert.ok((await send(method, url)).statusCode < 400)
    assert.ok((await send(method, url)).statusCode < 400)
    assert.equal(rounds(), 1)
  })
}

void test('an undefined kind is 404 after one read round; the core group and invalid paths need no round', async (t) => {
  const { get, rounds } = await start(t, { answer: (confirm) => setImmediate(confirm) })
  const none = '/apis/none.example.com'
  for (const url of [OBJECTS, none, `${none}/v1`, `/openapi/v3${none}/v1`]) {
    const before = rounds()
    const answer = await get(url)
    assert.equal(answer.statusCode, 404, url)
    assert.match(answer.body, /the server could not find the requested resource/)
    assert.equal(rounds(), before + 1, url)
  }
  const before = rounds()
  for (const url of [
    '/openapi/v3/api/v9',
    '/api/v1/nothings',
    '/api/v9',
    '/nothing',
    '/apis/stable.example.com/v1/a/b/c/d/e/f',
  ]) {
    assert.equal((await get(url)).statusCode, 404, url)
  }
  // An unauthorized request costs no round, either.
  assert.equal((await get(OBJECTS, NOBODY)).statusCode, 403)
  assert.equal(rounds(), before)
})

void test('a scan of unknown paths shares its rounds with the leader', async (t) => {
  const leader = held()
  const { get, rounds, waits } = await start(t, leader)
  const requested = Array.from({ length: 150 }, (_, at) => get(`/apis/g${at}.example.com/v1/things`))
  await until(() => waits() === 150)
  leader.letGo()
  for (const answer of await Promise.all(requested)) assert.equal(answer.statusCode, 404)
  // The first request started one round; all others share the next.
  assert.ok(rounds() <= 2, `${rounds()} rounds for 150 paths`)
})

void test('without a quorum an unknown kind is 504 within the limit or the deadline of the caller, not 404', async (t) => {
  const { get } = await start(t, { answer: () => undefined, waitMs: 60 })
  const answer = await get(OBJECTS)
  assert.equal(answer.statusCode, 504)
  assert.match(answer.body, /no quorum answered in time/)
  assert.equal(answer.headers['retry-after'], undefined)
  assert.equal((await get('/apis/stable.example.com/v1')).statusCode, 504)
  assert.equal((await get('/apis')).statusCode, 200)
  const slow = await start(t, { answer: () => undefined, waitMs: 3_600_000 })
  assert.equal((await slow.get(`${OBJECTS}?timeout=50ms`)).statusCode, 504)
})

void test('a limited number of requests waits at once, and further ones get 429', async (t) => {
  const leader = held()
  const { get } = await start(t, { ...leader, waitsMax: 3 })
  let turnedAway = 0
  const requested = Array.from({ length: 5 }, async () => {
    const answer = await get(OBJECTS)
    if (answer.statusCode === 429) turnedAway++
    return answer
  })
  await until(() => turnedAway === 2)
  leader.letGo()
  const answers = await Promise.all(requested)
  const codes = answers.map(({ statusCode }) => statusCode).toSorted()
  assert.deepEqual(codes, [404, 404, 404, 429, 429])
  const [refused] = answers.filter(({ statusCode }) => statusCode === 429)
  assert.equal(refused?.headers['retry-after'], '1')
  // No earlier request waits any longer, so this one is not refused.
  assert.equal((await get(OBJECTS)).statusCode, 404)
})

void test('a request for an unknown kind is 503 while the state is quarantined', async (t) => {
  const { get } = await start(t, {
    answer: (confirm) => setImmediate(confirm),
    takeIn: () => Promise.reject(new StoreError('quarantined', 'this state is not trusted')),
  })
  assert.equal((await get(OBJECTS)).statusCode, 503)
})
