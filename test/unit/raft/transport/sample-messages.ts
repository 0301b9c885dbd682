import { assertNever } from '../../../../base/assert.ts'
import type { SeededRandom } from '../../../../base/random.ts'
import type { ChangeRefusal, MemberChange, NewMember } from '../../../../raft/core/member-change.ts'
import type { MessageKind, ReadContext } from '../../../../raft/core/message.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Configuration, Entry, MemberInfo, NodeId } from '../../../../raft/core/types.ts'
import { reportBytesMax } from '../../../../raft/ports.ts'
import type { MembershipAnswer, PeerIdentity, PeerMessage } from '../../../../raft/ports.ts'

/** All kinds of messages; the compiler keeps the list complete. */
const kinds = {
  forward: true,
  'forward-refused': true,
  'read-request': true,
  'read-response': true,
  'pre-vote-request': true,
  'pre-vote-response': true,
  'vote-request': true,
  'vote-response': true,
  'append-request': true,
  'append-accepted': true,
  'append-refused': true,
  heartbeat: true,
  'heartbeat-response': true,
  snapshot: true,
  'timeout-now': true,
  report: true,
  'state-wanted': true,
  'entries-wanted': true,
  'entries-sent': true,
  'change-wanted': true,
  'change-answer': true,
  'transfer-wanted': true,
  'transfer-refused': true,
  founding: true,
  'members-wanted': true,
  members: true,
} satisfies Record<MessageKind | Exclude<PeerMessage['kind'], 'core'>, true>

export const sampleKinds = Object.keys(kinds) as readonly (keyof typeof kinds)[]

export type Ends = { readonly from: NodeId; readonly to: NodeId }

/** Returns a message of that kind with values of all sizes. */
export function sampleMessage(
  kind: keyof typeof kinds,
  random: SeededRandom,
  ends: Ends = { from: sampleId(random), to: sampleId(random) },
): PeerMessage {
  const whole = (): number => sampleWhole(random)
  const address = { ...ends, term: term(whole()) }
  const some = (): number => random.below(4)
  switch (kind) {
    case 'forward':
      return { ...address, kind, proposals: many(some(), () => random.bytes(random.below(300))) }
    case 'forward-refused': {
      const proposals = many(some(), () => ({ session: whole(), sequence: whole() }))
      const reason = random.chance(0.5) ? 'not-now' : 'unreadable'
      return { ...address, kind, reason, proposals }
    }
    case 'read-request':
      return { ...address, kind, round: whole(), withHeartbeat: random.chance(0.5) }
    case 'change-wanted':
      return { ...ends, kind, round: whole(), change: sampleChange(random) }
    case 'change-answer':
      return { ...ends, kind, round: whole(), answer: sampleAnswer(random) }
    case 'transfer-wanted':
      return { ...ends, kind, round: whole(), target: sampleId(random) }
    case 'transfer-refused': {
      const reasons = ['not-a-voter', 'target-silent', 'target-behind', 'target-declined'] as const
      return { ...ends, kind, round: whole(), reason: random.pick(reasons) }
    }
    case 'members-wanted':
      return { ...ends, kind, index: logIndex(whole()) }
    case 'members':
      return { ...ends, kind, index: logIndex(whole()), configuration: sampleConfig(random) }
    case 'founding':
      return { ...ends, kind, identity: sampleIdentity(random) }
    case 'read-response':
      return { ...address, kind, round: whole(), index: random.chance(0.3) ? null : logIndex(whole()) }
    case 'pre-vote-request':
      return core({ ...address, kind, lastIndex: logIndex(whole()), lastTerm: term(whole()) })
    case 'vote-request': {
      const transfer = random.chance(0.5)
      return core({ ...address, kind, lastIndex: logIndex(whole()), lastTerm: term(whole()), transfer })
    }
    case 'pre-vote-response':
    case 'vote-response':
      return core({ ...address, kind, granted: random.chance(0.5) })
    case 'append-request':
      return core({ ...ends, kind, ...sampleAppend(random) })
    case 'append-accepted':
      return core({ ...address, kind, index: logIndex(whole()) })
    case 'append-refused': {
      const hint = { hintIndex: logIndex(whole()), hintTerm: term(whole()) }
      return core({ ...address, kind, index: logIndex(whole()), ...hint })
    }
    case 'heartbeat':
      return core({
        ...{ ...address, kind, commit: logIndex(whole()), context: sampleContext(random) },
        ...random.pick([{}, { sentMs: whole() }, { quiet: true } as const]),
      })
    case 'heartbeat-response':
      return core({
        ...{ ...address, kind, context: sampleContext(random) },
        ...random.pick([
          ...[{}, { promise: { sentMs: whole(), promisedMs: whole() } }, { quiet: true } as const],
        ]),
      })
    case 'snapshot': {
      const snapshot = { index: logIndex(whole()), term: term(whole()), configuration: sampleConfig(random) }
      return core({ ...address, kind, snapshot })
    }
    case 'timeout-now':
      return core({ ...address, kind })
    case 'state-wanted':
      return { ...ends, kind, atLeast: logIndex(whole()) }
    case 'entries-wanted': {
      const first = 1 + random.below(1000)
      return { ...ends, kind, first: logIndex(first), last: logIndex(first + random.below(1000)) }
    }
    case 'entries-sent': {
      const { entries, previousIndex } = sampleAppend(random)
      return { ...ends, kind, first: logIndex(previousIndex + 1), entries }
    }
    case 'report':
      return { ...ends, kind, bytes: random.bytes(random.below(reportBytesMax + 1)) }
    default:
      assertNever(kind)
  }
}

export function sampleIdentity(random: SeededRandom): PeerIdentity {
  const hex = (): string => Buffer.from(random.bytes(random.below(17))).toString('hex')
  const phase = random.pick(['gathering', 'agreed', 'founded'] as const)
  return { logId: hex(), clusterId: hex(), phase }
}

function core(message: Extract<PeerMessage, { kind: 'core' }>['message']): PeerMessage {
  return { kind: 'core', message }
}

function sampleAppend(random: SeededRandom) {
  const previous = sampleWhole(random) % 2 ** 50
  let entryTerm = 1 + random.below(5)
  const previousTerm = term(previous === 0 ? 0 : entryTerm)
  const entries = many(random.below(5), (at): Entry => {
    entryTerm += random.below(2)
    const slot = { index: logIndex(previous + 1 + at), term: term(entryTerm) }
    if (random.chance(0.2)) return { ...slot, kind: 'empty' }
    if (random.chance(0.3)) return { ...slot, kind: 'configuration', configuration: sampleConfig(random) }
    return { ...slot, kind: 'command', data: random.bytes(random.below(400)) }
  })
  const commit = logIndex(sampleWhole(random))
  return {
    term: term(entryTerm + random.below(3)),
    previousIndex: logIndex(previous),
    previousTerm,
    entries,
    commit,
  }
}

/** Returns a configuration, joint or not, with up to five voters and two learners. */
export function sampleConfig(random: SeededRandom): Configuration {
  const ids = [...new Set(many(7, () => sampleId(random)))]
  const ascending = (list: readonly NodeId[]): NodeId[] => [...list].sort((a, b) => a - b)
  const learners = ascending(ids.slice(5))
  const isJoint = random.chance(0.5)
  const voters = ascending(ids.slice(0, isJoint ? 3 : 5))
  const votersOutgoing = isJoint ? ascending(ids.slice(1, 5)) : null
  const learnersNext = isJoint ? ascending(ids.slice(3, 4)) : []
  const members = ascending(ids).map((id): MemberInfo => {
    const role = learners.includes(id) ? 'learner' : 'voter'
    const addresses = { peerAddress: `[::1]:${7443 + random.below(9)}`, clientAddress: 'host.example:6443' }
    return {
      id,
      name: `n${id}`,
      role,
      wantedRole: 'voter',
      ...addresses,
      version: '1.2.3-ü',
      featureLevel: 7,
      replaces: random.chance(0.3) ? sampleId(random) : null,
      addedMs: random.chance(0.5) ? sampleWhole(random) : 0,
    }
  })
  return { voters, votersOutgoing, learners, learnersNext, autoLeave: isJoint, members }
}

function sampleChange(random: SeededRandom): MemberChange {
  const id = sampleId(random)
  const address = (): string | null => (random.chance(0.3) ? null : `host-${random.below(9)}:7443`)
  switch (random.below(5)) {
    case 0:
      return { kind: 'add', member: sampleNewMember(random), basedOn: logIndex(sampleWhole(random)) }
    case 1:
      return { kind: 'remove', id }
    case 2:
      return { kind: 'set-role', id, role: random.pick(['voter', 'learner']) }
    case 3:
      return { kind: 'move', id, peerAddress: address(), clientAddress: address() }
    default:
      return { kind: 'promote', id }
  }
}

function sampleNewMember(random: SeededRandom): NewMember {
  return {
    id: sampleId(random),
    name: 'n9',
    wantedRole: random.pick(['voter', 'learner']),
    peerAddress: '[::1]:7443',
    clientAddress: 'host.example:6443',
    version: '1.2.3-ü',
    featureLevel: 3,
    replaces: random.chance(0.5) ? sampleId(random) : null,
    addedMs: sampleWhole(random),
  }
}

function sampleAnswer(random: SeededRandom): MembershipAnswer {
  switch (random.below(3)) {
    case 0:
      return { kind: 'later' }
    case 1:
      return { kind: 'done', index: logIndex(sampleWhole(random)), configuration: sampleConfig(random) }
    default:
      return { kind: 'refused', reason: random.pick(refusals), message: 'no: do that instead' }
  }
}

const refusals: readonly ChangeRefusal[] = [
  'name-taken',
  'id-taken',
  'unknown-member',
  'replaced-unknown',
  'replaces-pinned',
  'last-voter',
  'below-live-quorum',
  'not-caught-up',
  'too-many-members',
  'change-pending',
  'term-unsettled',
  'address-taken',
  'impossible',
]

/** Returns a number of at most 0 to 53 bits, each limit equally likely. */
export function sampleWhole(random: SeededRandom): number {
  const bits = random.below(54)
  const value = random.next() * 2 ** 21 + random.below(2 ** 21)
  return bits === 0 ? 0 : Math.floor(value / 2 ** (53 - bits))
}

function sampleId(random: SeededRandom): NodeId {
  return nodeId(1 + (sampleWhole(random) % (Number.MAX_SAFE_INTEGER - 1)))
}

function sampleContext(random: SeededRandom): ReadContext | null {
  return random.chance(0.3) ? null : (sampleWhole(random) as ReadContext)
}

function many<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at))
}

/** Makes buffers and arrays comparable by their bytes. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}
