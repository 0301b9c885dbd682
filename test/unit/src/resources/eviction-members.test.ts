/*
 * Goal: evictions through several members at once never take more than a disruption budget allows,
 * although each member decides by the state that it has applied.
 * Method: the shipped verbs of three members on one log, which they apply at different times.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { objectMember } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { bootstrapOperations } from '../../../../src/resources/bootstrap-objects.ts'
import { featureLevelMax } from '../../../../src/version.ts'
import { openLaggingMembers } from '../../../support/fixtures/lagging-members.ts'
import { Fixture, ManualClock, refused } from '../registry/fixture.ts'
import { createPod } from './pods/pod-samples.ts'

const kind = 'policy/v1/PodDisruptionBudget'
const labels = { app: 'web' }

async function openMembers(t: TestContext, count: number): Promise<readonly Fixture[]> {
  const [names, clock] = [namesOf('orch.io'), new ManualClock()]
  const memories = await openLaggingMembers(count, clock)
  t.after(() => Promise.all(memories.map((memory) => memory.close())))
  const [first] = memories
  assert.ok(first !== undefined)
  const random = new SeededRandom(11)
  await first.store.write(
    {
      kind: 'bootstrap',
      identity: {
        ...{ clusterId: 'test', apiDomain: names.domain, keyFingerprints: {} },
        continueTokenKey: random.bytes(32),
      },
      settings: first.store.settings,
      operations: bootstrapOperations(names, { clock, random }),
      featureLevel: featureLevelMax,
    },
    clock.monotonicMs() + 10_000,
  )
  return memories.map((memory) => new Fixture({ names, clock, memory, options: {} }))
}

async function setAllowed(api: Fixture, healthy: number, allowed: number): Promise<void> {
  const status = { observedGeneration: 1, disruptionsAllowed: allowed, currentHealthy: healthy }
  const body = { status: { ...status, desiredHealthy: healthy - allowed, expectedPods: healthy } }
  await api.patch({ kind, name: 'b', subresource: 'status', body })
}

/** Runs the timers of calls that wait for each other. */
async function settled<T>(clock: ManualClock, calls: readonly Promise<T>[]): Promise<readonly T[]> {
  let isDone = false
  const all = Promise.all(calls).finally(() => (isDone = true))
  while (!isDone) {
    await turn()
    clock.advance(1)
  }
  return all
}

void test('two hundred evictions at once through three members take one Pod of a budget of one', async (t) => {
  const members = await openMembers(t, 3)
  const [api] = members
  assert.ok(api !== undefined)
  const names = Array.from({ length: 200 }, (_, at) => `p${at}`)
  const spec = { minAvailable: 1, selector: { matchLabels: labels } }
  await api.create({ kind, body: { metadata: { name: 'b' }, spec } })
  for (const name of names) {
    await createPod(api, { nodeName: 'm1' }, { name, labels })
    const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } }
    await api.patch({ kind: 'Pod', name, subresource: 'status', body })
  }
  const evict = async (name: string, at: number): Promise<number> => {
    const member = members[at % members.length] ?? api
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
    const call = member.create({ kind: 'Pod', name, subresource: 'eviction', body })
    const outcome = await Promise.allSettled([call])
    return outcome[0].status === 'fulfilled' ? outcome[0].value.code : (await refused(call)).code
  }
  const ending = async (member: Fixture): Promise<readonly string[]> => {
    const { items } = await member.list({ kind: 'Pod' })
    const gone = items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    return gone.map(({ metadata }) => metadata.name ?? '')
  }
  const evicted = new Set<string>()
  for (const round of [1, 2, 3]) {
    const left = names.filter((name) => !evicted.has(name))
    await setAllowed(api, left.length, 1)
    const calls = left.map((name, at) => evict(name, at + round))
    const codes: readonly number[] = await settled(api.clock, calls)
    assert.deepEqual([...new Set(codes)].toSorted(), [201, 429])
    assert.equal(codes.filter((code) => code === 201).length, 1)
    evicted.add(left[codes.indexOf(201)] ?? '')
    for (const member of members) {
      assert.deepEqual((await ending(member)).toSorted(), [...evicted].toSorted())
      const { object } = await member.get({ kind, name: 'b' })
      assert.equal(objectMember(object, 'status')['disruptionsAllowed'], 0)
    }
  }
})
