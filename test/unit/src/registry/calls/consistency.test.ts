/*
 * Goal: each mode of `Orch-Consistency` waits for exactly what it promises, reports its proof, and
 * checks again once the value was taken; malformed headers are refused with an explanation.
 * Method: the verbs over a store whose freshness and lease the test controls.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Freshness, LeaseRead } from '../../../../../raft/index.ts'
import { logIndex } from '../../../../../raft/index.ts'
import { consistencyText } from '../../../../../src/registry/calls/consistency.ts'
import type { ReadProof } from '../../../../../src/registry/calls/consistency.ts'
import { StoreError } from '../../../../../src/store/store-errors.ts'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { Fixture, refused } from '../fixture.ts'
import type { Call, ManualClock } from '../fixture.ts'

type Kit = {
  readonly api: Fixture
  /** The proofs that the store reports, and the calls that it received. */
  readonly proofs: {
    freshness: Freshness | null
    lease: LeaseRead | null
    barriers: number
    probes: number
    entries: number
    reached: number[]
    /** Runs within a barrier. */
    onBarrier: () => unknown
    /** Runs when the value is taken. */
    onTake: () => unknown
  }
  /** The value of the header, and the response. */
  readonly get: (mode: string | null, more?: Call) => Promise<ShownProof>
  readonly list: (mode: string | null, more?: Call) => Promise<ShownProof>
  readonly watch: (mode: string | null, more?: Call) => Promise<ShownProof>
}

type ShownProof = { readonly proof: ReadProof | null; readonly shown: string }

async function kit(t: TestContext): Promise<Kit> {
  const proofs: Kit['proofs'] = {
    ...{ freshness: null, lease: null, barriers: 0, probes: 0, entries: 0, reached: [] },
    ...{ onBarrier: () => undefined, onTake: () => undefined },
  }
  let clock: ManualClock | null = null
  const wrap = (real: ObjectStore): ObjectStore =>
    new Proxy(real, {
      get: (target, name) => {
        if (name === 'reads') {
          return {
            term: 3,
            freshness: proofs.freshness,
            probe: () => proofs.probes++,
            lease: () => proofs.lease,
            reached: async (index: number) => void proofs.reached.push(index),
          }
        }
        if (name === 'barrier') {
          return async () => {
            proofs.barriers++
            const asOfMs = clock?.monotonicMs() ?? 0
            await proofs.onBarrier()
            proofs.freshness = { asOfMs, confirmedMs: clock?.monotonicMs() ?? 0 }
          }
        }
        if (name === 'write') proofs.entries++
        if (name === 'view') proofs.onTake()
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  const api = await Fixture.open({ wrap })
  t.after(() => api.close())
  clock = api.clock
  await api.configMap('one')
  Object.assign(proofs, { barriers: 0, entries: 0, freshness: null })
  const requested =
    (verb: 'get' | 'list' | 'watch') =>
    async (mode: string | null, more: Call = {}) => {
      const request = api.request({ ...(verb === 'get' ? { name: 'one' } : {}), ...more })
      let proof: ReadProof | null = null
      const proven = (given: ReadProof): void => {
        proof = given
      }
      const answer = await api.registry[verb]({
        ...request,
        context: { ...request.context, proven },
        ...(mode === null ? {} : { consistency: mode }),
      })
      if (answer.kind === 'watch') answer.stream.close()
      return { proof, shown: answer.kind === 'document' ? Buffer.from(answer.bytes).toString() : '' }
    }
  return { api, proofs, get: requested('get'), list: requested('list'), watch: requested('watch') }
}

function holding(holds = true): LeaseRead {
  return { index: logIndex(7), holds: () => holds }
}

async function leasesOn({ api, proofs }: Kit): Promise<void> {
  const settings = { ...api.store.settings, leaseReads: 1 }
  await api.store.write({ kind: 'change-settings', settings }, Infinity)
  proofs.entries = 0
}

void test('without the header the requested version decides the mode, and the mode is reported', async (t) => {
  const { api, proofs, get, list, watch } = await kit(t)
  const revision = api.store.view().revision
  assert.deepEqual((await get(null)).proof?.mode, 'linearizable')
  assert.equal(proofs.barriers, 1)
  api.clock.advance(40)
  const any = await get(null, { query: { resourceVersion: '0' } })
  assert.deepEqual([any.proof?.mode, any.proof?.boundMs], ['any', 40])
  const older = await list(null, { query: { resourceVersion: '1', resourceVersionMatch: 'NotOlderThan' } })
  assert.deepEqual([older.proof?.mode, older.proof?.revision], ['not-older-than', revision])
  await api.configMap('two')
  const exact = await list(null, {
    query: { resourceVersion: String(revision), resourceVersionMatch: 'Exact' },
  })
  assert.deepEqual(
    [exact.proof?.mode, exact.proof?.revision, exact.proof?.boundMs],
    ['exact', revision, null],
  )
  const after = await watch(null, { query: { resourceVersion: '1' } })
  assert.deepEqual([after.proof?.mode, after.proof?.revision], ['exact', 1])
  assert.equal((await watch(null)).proof?.mode, 'linearizable')
  assert.equal((await watch(null, { query: { resourceVersion: '900000' } })).proof, null, 'not there yet')
})

void test('linearizable needs a quorum and any needs none, for get, list and watch', async (t) => {
  const { proofs, get, list, watch } = await kit(t)
  for (const read of [get, list, watch]) {
    proofs.barriers = 0
    assert.equal((await read('any')).proof?.mode, 'any')
    assert.equal(proofs.barriers, 0)
    const { proof } = await read('linearizable')
    assert.deepEqual([proof?.mode, proof?.term, proof?.boundMs], ['linearizable', 3, 0])
    assert.equal(proofs.barriers, 1)
  }
})

void test('log waits for an entry of its own, which changes nothing', async (t) => {
  const { api, proofs, get, list, watch } = await kit(t)
  const before = api.store.view().revision
  for (const read of [get, list, watch]) assert.equal((await read('log')).proof?.mode, 'log')
  assert.deepEqual([proofs.entries, proofs.barriers], [3, 0])
  assert.equal(api.store.view().revision, before)
})

void test('bounded is served from memory within the bound, measured when the value is taken', async (t) => {
  const { api, proofs, get } = await kit(t)
  const first = await get('bounded=100')
  assert.deepEqual([first.proof?.mode, first.proof?.boundMs, proofs.barriers], ['bounded', 0, 1])
  api.clock.advance(50)
  assert.equal((await get('bounded=100')).proof?.boundMs, 50)
  assert.equal(proofs.probes, 0)
  api.clock.advance(50)
  assert.equal((await get('bounded=100')).proof?.boundMs, 100)
  assert.deepEqual([proofs.barriers, proofs.probes], [1, 1], 'the next one finds newer proof')
  api.clock.advance(0.5)
  assert.equal((await get('bounded=100')).proof?.boundMs, 0)
  assert.equal(proofs.barriers, 2)
})

void test('a bounded read whose bound passes while the value is taken sends a barrier', async (t) => {
  const { api, proofs, get } = await kit(t)
  await get('bounded=100')
  api.clock.advance(100)
  proofs.onTake = () => {
    if (proofs.barriers === 1) api.clock.advance(1)
  }
  assert.equal((await get('bounded=100')).proof?.boundMs, 0)
  assert.equal(proofs.barriers, 2)
})

void test('a bounded read that was paused during its barrier sends another one', async (t) => {
  const { api, proofs, get } = await kit(t)
  proofs.onBarrier = () => {
    if (proofs.barriers < 3) api.clock.advance(101)
  }
  assert.equal((await get('bounded=100')).proof?.boundMs, 0)
  assert.equal(proofs.barriers, 3)
})

void test('a bound that three barriers do not meet is 504 with Retry-After', async (t) => {
  const { api, proofs, get, watch } = await kit(t)
  proofs.onBarrier = () => api.clock.advance(30)
  const late = await refused(get('bounded=29'))
  assert.equal(proofs.barriers, 3)
  assert.deepEqual([late.code, late.reason], [504, 'Timeout'])
  assert.equal(
    late.message,
    'Timeout: Orch-Consistency: the bound of 29 ms is not met: memory is proven to be at most 30 ms behind',
  )
  assert.equal((late.status['details'] as { retryAfterSeconds?: number }).retryAfterSeconds, 1)
  assert.equal((await get('bounded=30')).proof?.boundMs, 30)
  proofs.freshness = null
  proofs.onBarrier = () => {
    throw new StoreError('timed-out', 'no quorum')
  }
  const cut = await refused(watch('bounded=5000'))
  assert.equal(cut.code, 504)
  assert.match(cut.message, /the bound of 5000 ms is not met: no quorum answered in time$/)
})

void test('lease is refused while it is disabled, after a barrier', async (t) => {
  const opened = await kit(t)
  const { api, proofs, get } = opened
  proofs.lease = holding()
  const off = await refused(get('lease'))
  assert.equal(off.code, 400)
  assert.match(off.message, /"lease" is switched off in this cluster: orchctl settings set --lease-reads on$/)
  assert.equal(proofs.barriers, 1)
  // Just enabled through another member: the barrier applies the setting here.
  const settings = { ...api.store.settings, leaseReads: 1 }
  proofs.onBarrier = () => api.store.write({ kind: 'change-settings', settings }, Infinity)
  assert.equal((await get('lease')).proof?.mode, 'lease')
})

void test('lease needs no quorum and waits for the commit index at the start of the lease', async (t) => {
  const opened = await kit(t)
  await leasesOn(opened)
  const { proofs, get, list, watch } = opened
  proofs.lease = holding()
  for (const read of [get, list, watch]) {
    const { proof } = await read('lease')
    assert.deepEqual([proof?.mode, proof?.boundMs], ['lease', 0])
  }
  assert.deepEqual([proofs.barriers, proofs.entries], [0, 0])
  assert.deepEqual(proofs.reached, [7, 7, 7])
})

void test('a member without a lease, or whose lease ends during the read, uses a quorum and reports it', async (t) => {
  const opened = await kit(t)
  await leasesOn(opened)
  const { api, proofs, get, watch } = opened
  assert.equal((await get('lease')).proof?.mode, 'linearizable')
  assert.equal(proofs.barriers, 1)
  // The barrier applies a write of the next leader to this member.
  proofs.lease = holding(false)
  proofs.onBarrier = () => {
    proofs.onBarrier = () => undefined
    return api.patch({ name: 'one', body: { data: { by: 'the next leader' } } })
  }
  const { proof, shown } = await get('lease')
  assert.equal(proof?.mode, 'linearizable')
  assert.match(shown, /the next leader/)
  assert.equal((await watch('lease')).proof?.mode, 'linearizable')
})

const malformed = [
  '',
  'strong',
  'Linearizable',
  'bounded',
  'bounded=',
  'bounded=0',
  'bounded=600001',
  'bounded=1.5',
  'bounded=-1',
  'bounded=9999999',
  'any, any',
  'any;q=1',
  'x'.repeat(1000),
]

for (const value of malformed) {
  void test(`Orch-Consistency ${JSON.stringify(value.slice(0, 20))} is 400 and names the allowed values`, async (t) => {
    const { get, list, watch } = await kit(t)
    for (const read of [get, list, watch]) {
      const { code, message } = await refused(read(value))
      assert.equal(code, 400)
      assert.ok(message.includes(JSON.stringify(value).slice(0, 60).replace(/"$/, '')), message)
      assert.match(message, /must be one of: linearizable, lease, bounded=<1 to 600000 ms>, any, log$/)
      assert.ok(message.length < 250)
    }
  })
}

void test('the header together with any resourceVersion is 400', async (t) => {
  const { get, list, watch } = await kit(t)
  for (const read of [get, list, watch]) {
    for (const version of ['0', '1', 'x']) {
      const { code, message } = await refused(read('any', { query: { resourceVersion: version } }))
      assert.equal(code, 400, version)
      if (version !== 'x')
        assert.match(message, new RegExp(`Forbidden: "any" together with resourceVersion "${version}"`))
    }
    assert.equal((await read('any', { query: { resourceVersion: '' } })).proof?.mode, 'any', 'unset')
  }
})

void test('a later page is read at the version of the first page, whatever consistency is requested', async (t) => {
  const { api, proofs, list } = await kit(t)
  await api.configMap('two')
  const first = await api.list({ query: { limit: '1' } })
  proofs.barriers = 0
  const token = first.metadata.continue ?? ''
  const { proof } = await list('linearizable', { query: { limit: '1', continue: token } })
  assert.deepEqual([proof?.mode, proofs.barriers], ['exact', 0])
  assert.equal(proof?.revision, Number(first.metadata.resourceVersion))
})

void test('a response for a missing object has a proof, too', async (t) => {
  const { api, get } = await kit(t)
  let proof: ReadProof | null = null
  const request = api.request({ name: 'nobody' })
  const context = { ...request.context, proven: (given: ReadProof) => (proof = given) }
  assert.equal((await refused(api.registry.get({ ...request, context, consistency: 'any' }))).code, 404)
  assert.equal((proof as ReadProof | null)?.mode, 'any')
  assert.equal((await get('any')).proof?.mode, 'any')
})

void test('the proof of a read has mode, term, revision and times', () => {
  const proof: ReadProof = {
    ...{ mode: 'bounded', term: 4, revision: 99, boundMs: 12 },
    ...{ waitedMs: { confirm: 0, apply: 0 }, fixedMs: 0 },
  }
  assert.equal(consistencyText(proof, 'n2'), 'bounded; member=n2; term=4; revision=99; bound-ms=12')
  assert.equal(consistencyText({ ...proof, boundMs: null }, 'n2'), 'bounded; member=n2; term=4; revision=99')
})
