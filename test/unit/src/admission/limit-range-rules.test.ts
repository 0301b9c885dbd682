/*
 * Goal: an object that violates any of many LimitRanges is refused, and no other; a namespace has
 * only as many LimitRanges and ResourceQuotas as writes can be compared with.
 * Method: random LimitRanges and objects, checked with all LimitRanges at once and with each alone;
 * the shipped plugins and verbs in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { readLimitRange } from '../../../../src/admission/limit-range.ts'
import { violationsOf } from '../../../../src/admission/limit-range-rules.ts'
import { limitRanger } from '../../../../src/admission/limit-ranger.ts'
import { namespaceLifecycle } from '../../../../src/admission/namespace-lifecycle.ts'
import { resourceQuotaAdmission } from '../../../../src/admission/resource-quota.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { limits } from '../../../../src/config/limits.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import { openRacingFixture } from './racing-fixture.ts'

const names = namesOf('k8s.io')
const RESOURCES = ['cpu', 'memory', 'example.com/gpu'] as const

/** Returns a few random amounts, from `least` to nine more. */
function amounts(random: SeededRandom, least: number): JsonObject {
  const some = RESOURCES.filter(() => random.below(2) === 0)
  return Object.fromEntries(some.map((name) => [name, String(least + random.below(10))]))
}

function randomRange(random: SeededRandom): JsonObject[] {
  const types = ['Container', 'Pod', 'PersistentVolumeClaim'].filter(() => random.below(2) === 0)
  return types.map((type) => {
    const rare = (member: string, least: number): JsonObject =>
      random.below(4) === 0 ? { [member]: amounts(random, least) } : {}
    return { type, ...rare('min', 0), ...rare('max', 8), ...rare('maxLimitRequestRatio', 1) }
  })
}

function randomPod(random: SeededRandom): JsonObject {
  const list = (count: number): JsonObject[] =>
    Array.from({ length: count }, (_, at) => ({
      name: `c${at}`,
      resources: { requests: amounts(random, 0), limits: amounts(random, 4) },
    }))
  return { containers: list(1 + random.below(4)), initContainers: list(random.below(2)) }
}

void test('many LimitRanges refuse an object if one of them alone refuses it, for the reasons of such a one', (t) => {
  const seed = Number(process.env['SEED'] ?? 1)
  t.diagnostic(`repeat with SEED=${seed} node dist/test/run.js --only admission/limit-range-rules`)
  const random = new SeededRandom(seed)
  const seen = { refused: 0, accepted: 0 }
  for (let round = 0; round < 3000; round++) {
    const ranges = Array.from({ length: random.below(6) }, () => readLimitRange(randomRange(random)))
    const isPod = random.below(3) > 0
    const spec = isPod
      ? randomPod(random)
      : { resources: { requests: { storage: '1', ...amounts(random, 2) } } }
    const object = { apiVersion: 'v1', kind: isPod ? 'Pod' : 'PersistentVolumeClaim', metadata: {}, spec }
    const plural = isPod ? 'pods' : 'persistentvolumeclaims'
    const alone = ranges.map((range) => violationsOf(plural, object, [range])).filter((one) => one.length > 0)
    const found = violationsOf(plural, object, ranges)
    if (alone.length === 0) assert.deepEqual(found, [], `round ${round}`)
    else
      assert.ok(
        alone.some((one) => one.join() === found.join()),
        `round ${round}: ${found.join()}`,
      )
    seen[alone.length === 0 ? 'accepted' : 'refused']++
  }
  assert.ok(seen.refused > 500 && seen.accepted > 500, JSON.stringify(seen))
})

void test('a namespace at the limit accepts no further LimitRange or ResourceQuota; existing ones can be changed and deleted', async (t) => {
  const { api, race } = await openRacing()
  t.after(() => api.close())
  for (const [kind, plural, spec] of [
    ['LimitRange', 'limitranges', { limits: [{ type: 'Pod', max: { cpu: '1' } }] }],
    ['ResourceQuota', 'resourcequotas', { hard: { pods: '1' } }],
  ] as const) {
    const made = (name: string, more: JsonObject = {}): ReturnType<Fixture['create']> =>
      api.create({ kind, body: { metadata: { name, ...more }, spec } })
    race.skipsPlugins = true
    for (let at = 1; at < limits.namespacePoliciesMax; at++) await made(`a${at}`)
    race.skipsPlugins = false
    // The second of two concurrent creates exceeds the limit.
    race.before = () => made('last')
    const seen = await refused(made('more'))
    assert.equal(seen.code, 403)
    assert.equal(
      seen.message,
      `${plural} "more" is forbidden: namespace "default" has 1000 objects of the kind ${kind}, ` +
        'and at most 1000 are supported: delete some of them, or merge them',
    )
    await api.patch({ kind, name: 'a1', body: { metadata: { labels: { a: 'b' } } } })
    await api.delete({ kind, name: 'a2' })
    await made('more')
  }
})

void test('a LimitRange in a namespace with too many bytes of others may shrink, but not grow', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io', admission: admissionChain([limitRanger({ names })]) })
  t.after(() => api.close())
  const kind = 'LimitRange'
  const filled = (length: number): JsonObject => ({ 'example.com/a': 'v'.repeat(length) })
  const spec = { limits: [{ type: 'Pod', max: { cpu: '1' } }] }
  const made = (name: string, length: number): ReturnType<Fixture['create']> =>
    api.create({ kind, body: { metadata: { name, annotations: filled(length) }, spec } })
  await made('own', 9)
  for (let at = 0; at < 6; at++) await made(`a${at}`, 200_000)
  const change = (length: number): ReturnType<Fixture['patch']> =>
    api.patch({ kind, name: 'own', body: { metadata: { annotations: filled(length) } } })
  const seen = await refused(change(10))
  assert.equal(seen.code, 403)
  assert.match(
    seen.message,
    /has objects of the kind LimitRange with 120\d{4} bytes together, which is more than 1048576/,
  )
  await change(8)
})

/** Opens a fixture with the plugins of this test, whose next write `race.before` overtakes. */
function openRacing(): ReturnType<typeof openRacingFixture> {
  const orch = namesOf('orch.io')
  const quotas = resourceQuotaAdmission({ names: orch })
  return openRacingFixture([namespaceLifecycle({ names: orch }), limitRanger({ names: orch }), quotas])
}

function rangeOf(cpu: string): JsonObject {
  const container = { type: 'Container', default: { cpu }, max: { cpu } }
  return { limits: [container, { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }] }
}

void test('a Pod or claim that was evaluated before a LimitRange was there, or changed, is evaluated again', async (t) => {
  const { api, race } = await openRacing()
  t.after(() => api.close())
  const range = (name: string, cpu: string): ReturnType<Fixture['create']> =>
    api.create({ kind: 'LimitRange', body: { metadata: { name }, spec: rangeOf(cpu) } })
  const pod = (name: string, limits: JsonObject): ReturnType<Fixture['create']> => {
    const containers = [{ name: 'c', image: 'i', resources: { limits } }]
    return api.create({ kind: 'Pod', body: { metadata: { name }, spec: { containers } } })
  }
  race.before = () => range('first', '4')
  assert.match(JSON.stringify((await pod('a', {})).object), /"limits":\{"cpu":"4"\}/)
  race.before = () => range('second', '3')
  assert.match((await refused(pod('b', { cpu: '4' }))).message, /maximum cpu usage per Container is 3/)
  race.before = () => api.patch({ kind: 'LimitRange', name: 'first', body: { spec: rangeOf('2') } })
  assert.match((await refused(pod('b', { cpu: '3' }))).message, /maximum cpu usage per Container is 2/)
  const claim = (name: string, storage: string): ReturnType<Fixture['create']> => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } }
    return api.create({ kind: 'PersistentVolumeClaim', body: { metadata: { name }, spec } })
  }
  for (const name of ['first', 'second']) await api.delete({ kind: 'LimitRange', name })
  race.before = () => range('third', '1')
  assert.match((await refused(claim('a', '2Gi'))).message, /maximum storage usage per .* is 1Gi/)
})
