/*
 * Goal: one request that changes a member's role or addresses and its metadata does both or reports
 * what it did; its precondition on the version covers both, and a failed precondition changes
 * nothing.
 * Method: the shipped verbs and machine over a consensus of one; concurrent writes to the same
 * member between the membership change and the write that follows it, and just before that write
 * arrives.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { MembershipError } from '../../../../raft/index.ts'
import type { MemberInfo } from '../../../../raft/index.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { encode, parseStored } from '../../../../src/registry/kinds/encode.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'
import { memberKey } from '../../../../src/store/machine/member-objects.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { Fixture, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'

const kind = 'Member'
const name = 'n2'
const labels = { zone: 'b' }

type Others = {
  /** Called after the first membership change. */
  afterChange: () => Promise<void>
  /** Called before the first write of the request arrives. */
  beforeWrite: () => Promise<void>
}

type Opened = {
  readonly api: Fixture
  readonly others: Others
  /** A concurrent unconditional change of the object. */
  readonly change: (change: (object: AnyObject) => AnyObject) => Promise<void>
  readonly member: () => MemberInfo | undefined
}

async function open(t: TestContext): Promise<Opened> {
  const nothing = (): Promise<void> => Promise.resolve()
  const others: Others = { afterChange: nothing, beforeWrite: nothing }
  const once = async (which: keyof Others): Promise<void> => {
    const act = others[which]
    others[which] = nothing
    await act()
  }
  const wrap = (store: ObjectStore): ObjectStore =>
    new Proxy(store, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== 'function') return value
        if (property !== 'write') return value.bind(target) as unknown
        return async (...call: Parameters<ObjectStore['write']>): Promise<unknown> => {
          await once('beforeWrite')
          return target.write(...call)
        }
      },
    })
  const api = await Fixture.open({ wrap })
  t.after(() => api.close())
  const { consensus, clock, memory } = api
  consensus.configure([1, 2, 3].map((id) => memberInfo(id, `n${id}`)))
  const change = consensus.changeMembers.bind(consensus)
  consensus.changeMembers = async (wanted) => {
    const changed = await change(wanted)
    await once('afterChange')
    return changed
  }
  return {
    api,
    others,
    change: async (made) => {
      const stored = memory.store.view().get(memberKey('orch.io', name))
      assert.ok(stored !== null)
      const object = encode(made(parseStored(stored)))
      const operation = { kind: 'put', key: stored.key, conditions: [], object } as const
      const command = { kind: 'write', operations: [operation] } as const
      const outcome = await memory.store.write(command, clock.monotonicMs() + 1000)
      assert.equal(outcome.kind, 'done')
    },
    member: () => consensus.status.configuration.members.find((one) => one.name === name),
  }
}

/** A status update by the leader. */
function withTerm(term: number): (object: AnyObject) => AnyObject {
  return (object) => ({ ...object, status: { ...(object['status'] as JsonObject), term } })
}

function labelling(more: Readonly<Record<string, string>>): (object: AnyObject) => AnyObject {
  return (object) => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...more } },
  })
}

const spec = ({ object }: Got): JsonObject => object['spec'] as JsonObject
const status = ({ object }: Got): JsonObject => object['status'] as JsonObject

/** Returns the current object with its version, as a learner with a label. */
async function wantedOf(api: Fixture): Promise<JsonObject> {
  const got = await api.get({ kind, name })
  const metadata = { ...(got.object.metadata as JsonObject), labels }
  return { ...got.object, metadata, spec: { ...spec(got), role: 'Learner' } }
}

void test('a concurrent status update does not conflict with a request that names a version', async (t) => {
  const { api, others, change, member } = await open(t)
  const body = await wantedOf(api)
  others.afterChange = () => change(withTerm(7))
  others.beforeWrite = () => change(withTerm(8))
  const got = await api.update({ kind, name, body })
  assert.deepEqual([got.object.metadata.labels, spec(got)['role']], [labels, 'Learner'])
  assert.deepEqual([status(got)['term'], member()?.role], [8, 'learner'])
})

for (const when of ['afterChange', 'beforeWrite'] as const) {
  void test(`a concurrent metadata change (${when}) is kept by a patch without a version`, async (t) => {
    const { api, others, change, member } = await open(t)
    others[when] = () => change(labelling({ owner: 'them' }))
    const got = await api.patch({ kind, name, body: { metadata: { labels }, spec: { role: 'Learner' } } })
    assert.deepEqual(got.object.metadata.labels, { owner: 'them', ...labels })
    assert.equal(member()?.role, 'learner')
  })

  void test(`a concurrent metadata change (${when}) conflicts with a request that names a version, and the error reports what was done`, async (t) => {
    const { api, others, change, member } = await open(t)
    const { metadata } = (await api.get({ kind, name })).object
    const { resourceVersion } = metadata
    const body = await wantedOf(api)
    others[when] = () => change(labelling({ owner: 'them' }))
    const half = await refused(api.update({ kind, name, body }))
    assert.deepEqual([half.code, half.reason], [409, 'Conflict'])
    assert.match(half.message, /again \(done as asked: spec\.role; not done: the rest of the request\)$/)
    assert.equal(member()?.role, 'learner')
    const back = { metadata: { labels, resourceVersion }, spec: { role: 'Voter' } }
    const nothing = await refused(api.patch({ kind, name, body: back }))
    assert.equal(nothing.code, 409)
    assert.doesNotMatch(nothing.message, /done as asked/)
    assert.equal(member()?.wantedRole, 'learner', 'its precondition on the version failed')
    assert.deepEqual((await api.get({ kind, name })).object.metadata.labels, { owner: 'them' })
  })
}

void test('if the second of two membership changes is refused, the error reports the first one as done', async (t) => {
  const { api, others, member } = await open(t)
  const { consensus } = api
  others.afterChange = async () => {
    consensus.changeMembers = () =>
      Promise.reject(new MembershipError('below-live-quorum', 'start them first'))
  }
  const body = { spec: { role: 'Learner', peerAddress: 'h9:1', clientAddress: 'h9:2' } }
  const refusal = await refused(api.patch({ kind, name, body }))
  assert.equal(refusal.code, 403)
  assert.match(
    refusal.message,
    /: start them first \(done as asked: spec\.peerAddress and spec\.clientAddress;/,
  )
  assert.deepEqual([member()?.peerAddress, member()?.role], ['h9:1', 'voter'])
})

void test('a write that exceeds the storage quota is refused before any membership change', async (t) => {
  const { api, member } = await open(t)
  const { store, clock } = api
  const settings = { ...store.settings, storageBytesMax: store.storage.usedBytes }
  await store.write({ kind: 'change-settings', settings }, clock.monotonicMs() + 1000)
  const annotations = { note: 'x'.repeat(5000) }
  const body = { metadata: { annotations }, spec: { role: 'Learner' } }
  const refusal = await refused(api.patch({ kind, name, body }))
  assert.deepEqual([refusal.code, member()?.role], [403, 'voter'])
  assert.doesNotMatch(refusal.message, /done as asked/)
})
