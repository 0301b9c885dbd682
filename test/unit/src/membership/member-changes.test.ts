/*
 * Goal: a change of a member through its object is acknowledged once this member's memory shows it,
 * and errors are those of the API.
 * Method: a fake consensus with prepared results, applied here on command.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsensusError, MembershipError, logIndex, nodeId } from '../../../../raft/index.ts'
import type {
  ChangeRefusal,
  Configuration,
  LogIndex,
  MemberChange,
  MembersChanged,
} from '../../../../raft/index.ts'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { httpCodeOf } from '../../../../src/api/errors/status.ts'
import { MemberChanges } from '../../../../src/membership/member-changes.ts'
import type { MembershipChange } from '../../../../src/registry/shared/membership-changes.ts'
import { FakeConsensus, memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const pin: MembershipChange = { kind: 'set-member-role', id: '2', voter: false }
const leave: MembershipChange = { kind: 'remove-member', id: '2' }

function start(answer: () => Promise<LogIndex>) {
  const clock = new ManualClock()
  const fake = new FakeConsensus(clock)
  const requested: MemberChange[] = []
  const listeners = new Set<(applied: LogIndex) => void>()
  let applied = logIndex(10)
  let inMemory = fake.status.configuration
  const changes = new MemberChanges({
    consensus: {
      onApplied: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      changeMembers: async (change): Promise<MembersChanged> => {
        requested.push(change)
        return { configuration: fake.status.configuration, index: await answer() }
      },
    },
    applied: () => applied,
    configuration: () => inMemory,
    clock,
    names: namesOf('orch.io'),
  })
  const apply = (index: number): void => {
    applied = logIndex(index)
    for (const listener of listeners) listener(applied)
  }
  const configure = (change: Partial<Configuration>): void => {
    inMemory = { ...inMemory, ...change }
  }
  return {
    clock,
    changes,
    requested,
    apply,
    configure,
    listeners,
    deadlineMs: clock.monotonicMs() + 5000,
  }
}

async function failure(call: Promise<void>): Promise<ApiError> {
  try {
    await call
  } catch (cause) {
    if (cause instanceof ApiError) return cause
    throw cause
  }
  return assert.fail('the call was expected to fail')
}

void test('a change is acknowledged once it was applied here', async () => {
  const { changes, requested, apply, clock, listeners, deadlineMs } = start(() =>
    Promise.resolve(logIndex(12)),
  )
  let done = false
  const call = changes.apply(pin, deadlineMs).then(() => {
    done = true
  })
  await clock.advance(1000)
  apply(11)
  await clock.advance(1000)
  assert.equal(done, false)
  apply(12)
  await call
  assert.deepEqual(requested, [{ kind: 'set-role', id: 2, role: 'learner' }])
  assert.equal(listeners.size, 0, 'no listener remains')
})

void test('a change that is applied already is acknowledged at once', async () => {
  const { changes, listeners, deadlineMs } = start(() => Promise.resolve(logIndex(9)))
  await changes.apply({ kind: 'move-member', id: '2', peerAddress: 'h:1', clientAddress: null }, deadlineMs)
  assert.equal(listeners.size, 0)
})

void test('a change that this member does not apply in time is a 504; a removal does not wait for long', async () => {
  const { changes, clock, deadlineMs, listeners } = start(() => Promise.resolve(logIndex(12)))
  const late = failure(changes.apply(pin, deadlineMs))
  await clock.advance(5000)
  assert.deepEqual([(await late).code, (await late).details.retryAfterSeconds], ['Timeout', undefined])
  const removal = changes.apply(leave, clock.monotonicMs() + 60_000)
  await clock.advance(1500)
  await removal
  assert.equal(listeners.size, 0)
})

const refusals: readonly (readonly [ChangeRefusal, number, string])[] = [
  ['last-voter', 403, 'LastVoter'],
  ['below-live-quorum', 403, 'BelowLiveQuorum'],
  ['too-many-members', 403, 'TooManyMembers'],
  ['not-caught-up', 409, 'NotCaughtUp'],
  ['unknown-member', 409, 'UnknownMember'],
  ['address-taken', 409, 'AddressTaken'],
  ['change-pending', 503, 'ChangePending'],
  ['term-unsettled', 503, 'TermUnsettled'],
  ['impossible', 403, 'Impossible'],
]

for (const [reason, code, word] of refusals) {
  void test(`${reason} is a ${code} with the remedy and its cause`, async () => {
    const { changes, deadlineMs } = start(() =>
      Promise.reject(new MembershipError(reason, 'do this instead')),
    )
    const error = await failure(changes.apply(pin, deadlineMs))
    assert.equal(httpCodeOf(error.code), code)
    assert.match(error.message, /do this instead/)
    assert.deepEqual(error.details.causes, [{ reason: word, message: 'do this instead', field: 'spec.role' }])
    assert.equal(error.details.retryAfterSeconds, code === 503 ? 1 : undefined)
    if (code !== 503) assert.equal(error.details.name, 'n2')
  })
}

for (const [code, expected] of [
  ['overloaded', 429],
  ['stopped', 503],
  ['timed-out', 504],
  ['no-leader', 504],
] as const) {
  void test(`the consensus error ${code} becomes a ${expected}`, async () => {
    const { changes, deadlineMs } = start(() => Promise.reject(new ConsensusError(code, 'why')))
    assert.equal(httpCodeOf((await failure(changes.apply(pin, deadlineMs))).code), expected)
  })
}

void test('a dry run uses the configuration in memory, and sends no request', () => {
  const { changes, requested, configure } = start(() => assert.fail('no request is sent'))
  changes.dryRun(leave)
  assert.throws(() => changes.dryRun({ ...pin, id: '99' }), { code: 'Conflict' })
  configure({ voters: [nodeId(1)], votersOutgoing: [nodeId(1), nodeId(2)] })
  changes.dryRun(leave)
  configure({ members: [memberInfo(2, 'n2')], voters: [nodeId(2)], votersOutgoing: null })
  assert.throws(() => changes.dryRun(leave), { code: 'Forbidden' })
  assert.deepEqual(requested, [])
})
