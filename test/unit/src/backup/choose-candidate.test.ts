/*
 * Goal: the chosen directory has every entry that any survivor knows to be committed, and every
 * other committed entry unless nothing survived of the leader that committed it; the reported
 * losses are correct.
 * Method: random histories of a small Raft by hand (elections by majority, appends that reach some
 * members, truncation, commit indexes), of which a minority survives.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, nodeId, term } from '../../../../raft/index.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { chooseCandidate } from '../../../../src/backup/choose-candidate.ts'
import type { RecoveryCandidate } from '../../../../src/backup/recovery-candidate.ts'
import { fc } from '../../../support/generators/fast-check.ts'

/** Terms of the entries from index 1 on. */
type Log = number[]

const lastTermOf = (log: Log): number => log.at(-1) ?? 0
const majorityOf = (count: number): number => Math.floor(count / 2) + 1

/**
 * The logs after a run of elections and appends, the commit index that each member knows, and the
 * leader that committed each entry (`index:term`).
 */
function history(
  random: SeededRandom,
  count: number,
): { readonly logs: Log[]; readonly known: number[]; readonly committed: Map<string, number> } {
  const logs: Log[] = Array.from({ length: count }, () => [])
  const known = logs.map(() => 0)
  const committed = new Map<string, number>()
  const terms = 2 + random.below(6)
  for (let leaderTerm = 1; leaderTerm <= terms; leaderTerm++) {
    const leader = electable(random, logs)
    const own = logs[leader] as Log
    const reached = new Map<number, number>([[leader, 0]])
    for (let step = 0; step < 1 + random.below(6); step++) {
      own.push(leaderTerm)
      for (let peer = 0; peer < count; peer++) {
        if (peer === leader || random.chance(0.6)) continue
        // The append may lack the last entry of the leader.
        const upTo = own.length - random.below(2)
        const theirs = logs[peer] as Log
        const same = theirs.slice(0, upTo).every((value, at) => value === own[at])
        if (!same || theirs.length < upTo) logs[peer] = own.slice(0, upTo)
        reached.set(peer, upTo)
      }
      reached.set(leader, own.length)
      const acknowledged = [...reached.values()].sort((a, b) => b - a)[majorityOf(count) - 1] ?? 0
      if (own[acknowledged - 1] !== leaderTerm) continue
      for (let at = 1; at <= acknowledged; at++) {
        const name = `${at}:${own[at - 1]}`
        if (!committed.has(name)) committed.set(name, leaderTerm)
      }
      for (const [peer, upTo] of reached) {
        if (random.chance(0.4)) known[peer] = Math.max(known[peer] ?? 0, Math.min(acknowledged, upTo))
      }
    }
  }
  return { logs, known, committed }
}

function electable(random: SeededRandom, logs: readonly Log[]): number {
  const able = logs
    .map((_, at) => at)
    .filter((candidate) => {
      const own = logs[candidate] as Log
      const votes = logs.filter(
        (other) =>
          lastTermOf(own) > lastTermOf(other) ||
          (lastTermOf(own) === lastTermOf(other) && own.length >= other.length),
      )
      return votes.length >= majorityOf(logs.length)
    })
  return random.pick(able)
}

function survivorOf(
  log: Log,
  at: number,
  of: { readonly count: number; readonly committed: number },
): RecoveryCandidate {
  const { count, committed } = of
  const voters = Array.from({ length: count }, (_, one) => nodeId(one + 1))
  const termRuns = log
    .map((value, place) => ({ first: logIndex(place + 1), term: term(value) }))
    .filter((run, place) => place === 0 || run.term !== log[place - 1])
  return {
    directory: `/n${at + 1}`,
    identity: { cluster: 'c', member: `n${at + 1}`, id: nodeId(at + 1), apiDomain: 'orch.io' },
    clusterId: 'c1',
    damage: null,
    suspect: null,
    log: {
      ...{
        term: lastTermOf(log),
        lastTerm: lastTermOf(log),
        lastIndex: log.length,
        baseIndex: 0,
        baseTerm: 0,
      },
      ...{ committed, applied: 0, appliedRevision: 0, revision: 0, termRuns, unproven: [] },
      configuration: { ...emptyConfiguration, voters },
    },
  }
}

void test('the chosen directory of a minority has every entry that any of them knows to be committed', () => {
  let [committedSeen, droppedSeen] = [0, 0]
  fc.assert(
    fc.property(fc.nat(2 ** 31), fc.constantFrom(3, 5, 7), (seed, count) => {
      const random = new SeededRandom(seed)
      const { logs, known, committed } = history(random, count)
      const all = logs.map((log, at) => ({ log, at, committed: known[at] ?? 0 }))
      while (all.length >= majorityOf(count)) all.splice(random.below(all.length), 1)
      const { best, dropped, lost, missed } = chooseCandidate(
        all.map((one) => survivorOf(one.log, one.at, { count, committed: one.committed })),
      )
      assert.equal(missed, null)
      const chosen = all.find(({ at }) => `n${at + 1}` === best.identity.member)?.log ?? []
      assert.equal(lost.length, count - all.length)
      for (const { log, at, committed: knows } of all) {
        for (const [place, value] of log.entries()) {
          const name = `${place + 1}:${value}`
          const isDropped = dropped.some(
            ({ member, from, to }) => member === `n${at + 1}` && from <= place + 1 && place + 1 <= to,
          )
          assert.equal(isDropped, chosen[place] !== value, `entry ${name} of n${at + 1}`)
          if (isDropped) droppedSeen++
          const leaderTerm = committed.get(name)
          const isKnown = place < knows
          if (leaderTerm === undefined || (!isKnown && leaderTerm > best.log.lastTerm)) continue
          committedSeen++
          assert.equal(chosen[place], value, `${best.identity.member} lacks ${name}, which n${at + 1} has`)
        }
      }
    }),
    { numRuns: 2000 },
  )
  assert.ok(committedSeen > 1000 && droppedSeen > 100, `${committedSeen} committed, ${droppedSeen} dropped`)
})

void test('entries that only a damaged directory knows to be committed are reported as lost', () => {
  const of = { count: 5, committed: 3 }
  const damaged = { ...survivorOf([1, 1, 2], 0, of), damage: 'its database is damaged' }
  const { best, missed } = chooseCandidate([damaged, survivorOf([1, 1], 1, { count: 5, committed: 2 })])
  assert.equal(best.identity.member, 'n2')
  assert.deepEqual(missed, { member: 'n1', from: 3, to: 3 })
})

void test('the choice reports whether the missing members could have been a quorum by themselves', () => {
  for (const [count, here, expected] of [
    [3, 1, true],
    [5, 2, true],
    [2, 1, false],
    [4, 2, false],
    [4, 1, true],
  ] as const) {
    const all = Array.from({ length: here }, (_, at) => survivorOf([1], at, { count, committed: 1 }))
    assert.equal(chooseCandidate(all).lostDecide, expected, `${here} of ${count}`)
  }
  // The joint configuration of 1 and 2, on its way to 2 and 3, may have been left since.
  const joint = survivorOf([1], 0, { count: 2, committed: 1 })
  assert.ok(joint.log !== null)
  const voters = [nodeId(2), nodeId(3)]
  const configuration = { ...joint.log.configuration, voters, votersOutgoing: [nodeId(1), nodeId(2)] }
  assert.equal(chooseCandidate([{ ...joint, log: { ...joint.log, configuration } }]).lostDecide, true)
})

void test('what is known to be committed counts more than a later term', () => {
  // A leader of term 5, of which nothing survived, committed the entry of term 3 by one of its own
  // after it.
  const knows = survivorOf([1, 3, 3], 0, { count: 5, committed: 3 })
  const later = survivorOf([1, 3, 4], 1, { count: 5, committed: 2 })
  const { best, dropped } = chooseCandidate([later, knows])
  assert.equal(best.identity.member, 'n1')
  const reported = dropped.map(({ member, from, to }) => [member, from, to])
  assert.deepEqual(reported, [['n2', 3, 3]])
})

void test('the base of a compacted log shows which directories have its committed entries', () => {
  const cut = survivorOf([1, 1, 1, 1, 1], 1, { count: 5, committed: 4 })
  assert.ok(cut.log)
  const known = { ...cut, log: { ...cut.log, baseIndex: 4, baseTerm: 1, termRuns: cut.log.termRuns } }
  for (const [log, best, dropped] of [
    [[1, 1, 9], 'n2', [3, 3]],
    [[1, 1, 9, 9, 9, 9], 'n2', [3, 6]],
    [[1, 1, 1, 1, 9], 'n1', [5, 5]],
    [[1, 1, 1, 1, 1, 1], 'n1', null],
  ] as const) {
    const choice = chooseCandidate([survivorOf([...log], 0, { count: 5, committed: 2 }), known])
    assert.equal(choice.best.identity.member, best, log.join())
    assert.deepEqual(choice.dropped.map(({ from, to }) => [from, to])[0] ?? null, dropped, log.join())
  }
})

void test('directories of two foundings are refused, however long the older log is, and the error groups them', () => {
  const of = { count: 5, committed: 1 }
  const [now, old] = [survivorOf([1, 1], 0, of), { ...survivorOf([1, 4, 41, 41], 2, of), clusterId: 'c0' }]
  const unknown = { ...survivorOf([1], 3, of), clusterId: null }
  const both =
    /separately founded clusters: \/n1 and \/n2 of cluster c1; \/n3 of cluster c0; give those of one/
  assert.throws(() => chooseCandidate([now, old, survivorOf([1], 1, of), unknown]), both)
  assert.equal(
    chooseCandidate([now, unknown]).best.identity.member,
    'n1',
    'a directory without a cluster id is accepted',
  )
})
