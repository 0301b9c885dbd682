import type { SeededRandom } from '../../../../base/random.ts'
import type { Message, ReadContext } from '../../../../raft/core/message.ts'
import type { CoreStatus } from '../../../../raft/core/ready.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Configuration, Entry, LogIndex, Term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'

/**
 * Messages of a faulty peer to member 1: every kind, with numbers near the valid ones and far from
 * them.
 */
export function invalidMessage(random: SeededRandom, from: number, known: CoreStatus): Message {
  const at = (): LogIndex => invalidIndex(random, known)
  const ends = { from: nodeId(from), to: nodeId(1), term: invalidTerm(random, known) }
  const of = (): Term =>
    term(Math.max(0, random.chance(0.8) ? ends.term - random.below(3) : invalidTerm(random, known)))
  switch (random.pick(kinds)) {
    case 'pre-vote-request':
      return { kind: 'pre-vote-request', ...ends, lastIndex: at(), lastTerm: of() }
    case 'vote-request':
      return { kind: 'vote-request', ...ends, lastIndex: at(), lastTerm: of(), transfer: random.chance(0.5) }
    case 'pre-vote-response':
      return { kind: 'pre-vote-response', ...ends, granted: random.chance(0.5) }
    case 'vote-response':
      return { kind: 'vote-response', ...ends, granted: random.chance(0.5) }
    case 'append-request': {
      const previousIndex = at()
      const entries = Array.from({ length: random.below(4) }, (_, place) =>
        invalidEntry(random, previousIndex + 1 + place, of()),
      )
      return { kind: 'append-request', ...ends, previousIndex, previousTerm: of(), entries, commit: at() }
    }
    case 'append-accepted':
      return { kind: 'append-accepted', ...ends, index: at() }
    case 'append-refused':
      return { kind: 'append-refused', ...ends, index: at(), hintIndex: at(), hintTerm: of() }
    case 'heartbeat':
      return {
        kind: 'heartbeat',
        ...ends,
        commit: at(),
        context: invalidContext(random),
        sentMs: random.below(1e6),
      }
    case 'heartbeat-response': {
      const promise = { sentMs: random.below(1e6), promisedMs: random.pick([1, 1e3, 1e15]) }
      return { kind: 'heartbeat-response', ...ends, context: invalidContext(random), promise }
    }
    case 'snapshot': {
      const snapshot = { index: at(), term: of(), configuration: invalidConfiguration(random) }
      return { kind: 'snapshot', ...ends, snapshot }
    }
    case 'timeout-now':
      return { kind: 'timeout-now', ...ends }
  }
}

const kinds: readonly Message['kind'][] = [
  ...([
    'append-request',
    'append-request',
    'append-request',
    'heartbeat',
    'snapshot',
    'timeout-now',
  ] as const),
  ...(['append-accepted', 'append-refused', 'heartbeat-response'] as const),
  ...(['pre-vote-request', 'vote-request', 'pre-vote-response', 'vote-response'] as const),
]

function invalidIndex(random: SeededRandom, { commit, lastIndex, firstIndex }: CoreStatus): LogIndex {
  const near = random.pick([0, firstIndex, commit, commit + 1, lastIndex, lastIndex + 1])
  if (random.chance(0.15))
    return logIndex(random.pick([2 ** 31, 2 ** 32, 2 ** 40, 2 ** 52, Number.MAX_SAFE_INTEGER - 8]))
  return logIndex(Math.max(0, near + random.below(3) - 1))
}

function invalidTerm(random: SeededRandom, known: CoreStatus): Term {
  if (random.chance(0.1))
    return term(random.pick([2 ** 27, 2 ** 32, 2 ** 41, 2 ** 52, Number.MAX_SAFE_INTEGER]))
  return term(Math.max(0, known.term + random.pick([-1, 0, 0, 0, 0, 0, 0, 1, 2])))
}

function invalidContext(random: SeededRandom): ReadContext | null {
  return random.chance(0.3) ? null : (random.pick([0, 1, 2, 2 ** 40]) as ReadContext)
}

/** Returns an entry whose index is sometimes not consecutive. */
function invalidEntry(random: SeededRandom, index: number, of: Term): Entry {
  const place = {
    index: logIndex(Math.min(index + (random.chance(0.05) ? 1 : 0), Number.MAX_SAFE_INTEGER)),
    term: of,
  }
  if (random.chance(0.3))
    return { ...place, kind: 'configuration', configuration: invalidConfiguration(random) }
  return random.chance(0.2)
    ? { ...place, kind: 'empty' }
    : { ...place, kind: 'command', data: random.bytes(3) }
}

function invalidConfiguration(random: SeededRandom): Configuration {
  const good = cluster([1, 2, 3])
  const [first] = good.members
  switch (random.below(8)) {
    case 0:
      return { ...good, voters: [], members: [] }
    case 1:
      return { ...good, voters: [nodeId(3), nodeId(2), nodeId(1)] }
    case 2:
      return { ...good, learners: good.voters }
    case 3:
      return { ...good, autoLeave: true }
    case 4:
      return { ...good, members: good.members.slice(1) }
    case 5:
      return { ...good, members: good.members.map((one) => ({ ...one, featureLevel: 2 ** 50 })) }
    case 6:
      return first === undefined ? good : { ...good, members: [first, first, first] }
    default:
      return cluster(random.pick([[1, 2, 3], [1, 2], [2, 3], [1]]))
  }
}
