/*
 * Goal: counting what a namespace uses takes as many steps as it has objects, and no turn of the
 * event loop takes more than its limit of them.
 * Method: a view that counts the objects that it returned, and a clock that counts turns.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Clock } from '../../../../base/clock.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { QuotaUsage } from '../../../../src/controllers/quota-usage.ts'
import { amountsJson } from '../../../../src/registry/quota/amounts.ts'
import { quotaOf, quotasPrefix } from '../../../../src/registry/quota/quota.ts'
import type { Quota } from '../../../../src/registry/quota/quota.ts'
import { yieldToEventLoop } from '../../../../src/registry/shared/yield-budget.ts'
import type { ObjectStore, View } from '../../../../src/store/object-store.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { Fixture } from '../registry/fixture.ts'

const names = namesOf('orch.io')
const namespace = 'default'
const limits = { parsedPerTurn: 10, addedPerTurn: 10 }

/** Counts steps of reading, in total and in the turn with the most. */
class Steps {
  total = 0
  inTurnMax = 0
  #inTurn = 0
  readonly clock: Clock = {
    ...systemClock,
    soon: (action) => {
      this.#inTurn = 0
      systemClock.soon(action)
    },
  }

  of(view: View): View {
    return {
      revision: view.revision,
      get: (key) => view.get(key),
      count: (prefix) => view.count(prefix),
      list: (prefix, options) => {
        const slice = view.list(prefix, options)
        this.total += slice.objects.length
        this.#inTurn += slice.objects.length
        this.inTurnMax = Math.max(this.inTurnMax, this.#inTurn)
        return slice
      },
    }
  }
}

const scopesOfOne = [['BestEffort'], ['NotBestEffort'], ['Terminating'], ['NotTerminating'], []]

async function filled(t: TestContext, pods: number, quotas: number): Promise<Fixture> {
  const api = await Fixture.open({ domain: 'orch.io' })
  t.after(() => api.close())
  for (let at = 0; at < pods; at++) {
    const resources = at % 2 === 0 ? {} : { requests: { cpu: `${at}m` } }
    const containers = [{ name: 'c', image: 'i', resources }]
    const spec = { containers, ...(at % 3 === 0 ? { activeDeadlineSeconds: 9 } : {}) }
    await api.create({ kind: 'Pod', body: { metadata: { name: `p${at}` }, spec } })
  }
  for (let at = 0; at < quotas; at++) {
    const scopes = scopesOfOne[at % scopesOfOne.length] ?? []
    const isCpu = !scopes.includes('BestEffort')
    const hard = { pods: `${at}`, ...(isCpu ? { 'requests.cpu': '1' } : {}) }
    await api.create({
      kind: 'ResourceQuota',
      body: { metadata: { name: `q${at}` }, spec: { hard, scopes } },
    })
  }
  return api
}

function quotasIn(store: ObjectStore): readonly Quota[] {
  return store.view().list(quotasPrefix(namespace), { after: null, limit: null }).objects.map(quotaOf)
}

void test('the objects of a namespace are added once, however many quotas count them', async (t) => {
  const api = await filled(t, 30, 25)
  const steps = new Steps()
  const usage = new QuotaUsage(names, steps.clock, limits)
  const quotas = quotasIn(api.store)
  await usage.of(quotas, namespace, { view: () => steps.of(api.store.view()) })
  assert.equal(quotas.length, 25)
  assert.equal(steps.total, 30)
})

void test('no turn parses or adds more objects of a namespace than the limit', async (t) => {
  const api = await filled(t, 45, 3)
  const steps = new Steps()
  const usage = new QuotaUsage(names, steps.clock, limits)
  await usage.prepare({ view: () => steps.of(api.store.view()) }, namespace)
  await yieldToEventLoop(steps.clock)
  await usage.of(quotasIn(api.store), namespace, { view: () => steps.of(api.store.view()) })
  assert.equal(steps.total, 90, 'each Pod is parsed, and added')
  assert.equal(steps.inTurnMax, 10)
})

void test('quotas with and without scopes share the sums of the Pods in their scopes', async (t) => {
  const api = await filled(t, 30, 5)
  const usage = new QuotaUsage(names, systemClock, limits)
  const counted = await usage.of(quotasIn(api.store), namespace, api.store)
  const odd = Array.from({ length: 15 }, (_, at) => 2 * at + 1)
  const cpuOf = (some: (at: number) => boolean): string =>
    `${odd.filter(some).reduce((sum, at) => sum + at, 0)}m`
  assert.deepEqual(counted.map(amountsJson), [
    { pods: '15' },
    { pods: '15', 'requests.cpu': cpuOf(() => true) },
    { pods: '10', 'requests.cpu': cpuOf((at) => at % 3 === 0) },
    { pods: '20', 'requests.cpu': cpuOf((at) => at % 3 !== 0) },
    { pods: '30', 'requests.cpu': cpuOf(() => true) },
  ])
})
