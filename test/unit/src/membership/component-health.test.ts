/*
 * Goal: the health of the components is what this member knows of them: unknown without contact
 * with the cluster, and never better than the reports of the leader and the checks of this member.
 * Method: Member objects in a real store, failing checks, and a used-up storage quota.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { componentHealth } from '../../../../src/membership/component-health.ts'
import type { ComponentHealth } from '../../../../src/registry/kinds/component-health.ts'
import { encode } from '../../../../src/registry/kinds/encode.ts'
import { memberKey } from '../../../../src/store/machine/member-objects.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import { bootstrapOf } from '../../../../fixtures/store-commands.ts'

const lead = { leader: true }
const silent = 'it has not responded to the leader lately'

function ready(id: string, status: 'True' | 'False', message: string): JsonObject {
  return { id, conditions: [{ type: 'Ready', status, message }] }
}

type Situation = {
  /** Status by the name of the member. */
  readonly members: Readonly<Record<string, JsonObject>>
  /** Failures by the name of the check. */
  readonly failures?: Readonly<Record<string, string>>
  readonly alarm?: boolean
}

async function observed(
  t: TestContext,
  { members, failures = {}, alarm = false }: Situation,
): Promise<Readonly<Record<string, Omit<ComponentHealth, 'name'>>>> {
  const { store, close } = await openMemoryStore()
  t.after(close)
  await store.write(bootstrapOf('c', { featureLevel: 3 }), Infinity)
  const operations = Object.entries(members).map(([name, status]) => {
    const metadata = { name, uid: name }
    const object = encode({ apiVersion: 'cluster.orch.io/v1', kind: 'Member', metadata, status })
    return { kind: 'put' as const, key: memberKey('orch.io', name), conditions: [], object }
  })
  const outcome = await store.write({ kind: 'write', operations }, Infinity)
  assert.equal(outcome.kind, 'done')
  const checks = ['leader', 'membership', 'caught-up', 'log', 'apply-lag', 'state', 'state-agreement', 'disk']
  const found = componentHealth({
    store: { view: () => store.view(), storage: { alarm } },
    names: { domain: 'orch.io' },
    checks: checks.map((name) => ({ name, failure: () => failures[name] ?? null })),
  })
  return Object.fromEntries(found.map(({ name, ...health }) => [name, health]))
}

const healthy = { status: 'True', message: 'ok', error: '' }
const failed = (message: string) => ({ status: 'False', message, error: '' })
const unknown = (error: string) => ({ status: 'Unknown', message: '', error })

void test('members that are ready, the controllers of their leader and the store are healthy', async (t) => {
  const found = await observed(t, {
    members: { n1: ready('1', 'True', 'it is in touch'), n2: { ...ready('2', 'True', 'it leads'), ...lead } },
  })
  assert.deepEqual(found, {
    ...{ controllers: healthy, 'member-n1': healthy, 'member-n2': healthy, store: healthy },
  })
})

void test('a member that is not ready is unhealthy for the reason that the leader reports', async (t) => {
  const found = await observed(t, {
    members: { n1: { ...ready('1', 'True', ''), ...lead }, n2: ready('2', 'False', silent) },
  })
  assert.deepEqual(found['member-n2'], failed(silent))
  assert.deepEqual([found['member-n1'], found['controllers'], found['store']], [healthy, healthy, healthy])
})

void test('the controllers are unhealthy with their leader, and unknown without one', async (t) => {
  const unfit = await observed(t, {
    members: { n1: { ...ready('1', 'False', 'its state is bad'), ...lead } },
  })
  assert.deepEqual(unfit['controllers'], failed('the leader n1 runs them: its state is bad'))
  const none = await observed(t, { members: { n1: ready('1', 'True', '') } })
  assert.deepEqual(none['controllers'], unknown('no member has reported yet that it leads'))
})

void test('a member that the leader has not reported yet is unknown, and one that has not joined is left out', async (t) => {
  const found = await observed(t, { members: { n1: { id: '1' }, n2: { phase: 'Pending' } } })
  assert.deepEqual(found['member-n1'], unknown('the leader has not reported its status yet'))
  assert.deepEqual(Object.keys(found), ['controllers', 'member-n1', 'store'])
})

for (const check of ['leader', 'membership', 'caught-up']) {
  void test(`while the check ${check} fails, members and controllers are unknown, whatever was reported last`, async (t) => {
    const found = await observed(t, {
      members: { n1: { ...ready('1', 'True', ''), ...lead } },
      failures: { [check]: 'out of touch' },
    })
    assert.deepEqual(
      [found['member-n1'], found['controllers']],
      [unknown('out of touch'), unknown('out of touch')],
    )
  })
}

void test('the store is unhealthy while a check of it fails or its quota is used up', async (t) => {
  const members = { n1: { ...ready('1', 'True', ''), ...lead } }
  for (const check of ['state', 'state-agreement', 'leader', 'membership', 'log', 'apply-lag']) {
    const { store } = await observed(t, { members, failures: { [check]: 'it fails' } })
    assert.deepEqual(store, failed('it fails'), check)
  }
  const { store: other } = await observed(t, { members, failures: { disk: 'it fails' } })
  assert.deepEqual(other, healthy)
  const full = await observed(t, { members, alarm: true })
  assert.match(full['store']?.message ?? '', /^the storage quota is used up/)
  assert.deepEqual([full['store']?.status, full['member-n1']], ['False', healthy])
})
