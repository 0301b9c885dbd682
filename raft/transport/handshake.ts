import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerIdentity, PeerVerdict } from '../ports.ts'
import type { RefusalReason } from './events.ts'
import type { Hello } from './frame-codec.ts'
import { commonProtocol, protocolNewest, protocolOldest } from './protocol-version.ts'

/** Why a caller is refused. `detail` is one line for the operators of both sides. */
export type Refusal = { readonly reason: RefusalReason; readonly detail: string }

/** What a hello is checked against. */
export type HandshakeContext = {
  readonly cluster: string
  readonly self: NodeId
  /** See `GrpcTransportOptions`. */
  readonly founding: string
  readonly peers: ReadonlyMap<NodeId, MemberInfo>
  /** See `Transport.setPeers`. */
  readonly decidedIndex: LogIndex
  /** See `TransportReceiver`, as is the next. */
  readonly identity: () => PeerIdentity
  readonly verify: (peer: NodeId, identity: PeerIdentity) => Promise<PeerVerdict>
}

/**
 * Checks a hello against the caller's certificate, which alone proves who it is, and this member's
 * configuration. What depends on logs and cluster ids is checked by `HandshakeContext.verify`.
 *
 * @param certified the member that the caller's verified certificate names; null when none
 * @returns null: accepted
 */
export function validateHandshake(
  context: HandshakeContext,
  certified: string | null,
  hello: Hello,
): Refusal | null {
  if (certified === null) {
    return { reason: 'identity', detail: 'the peer certificate names no member' }
  }
  if (commonProtocol(hello) === null) {
    const detail =
      `member "${certified}" speaks peer protocol ${hello.protocol} to ${Math.max(hello.protocol, hello.protocolMax)}, ` +
      `this member ${protocolOldest} to ${protocolNewest}: let both run versions that follow each other`
    return { reason: 'other-protocol', detail }
  }
  if (hello.cluster !== context.cluster) {
    const detail = `member "${certified}" belongs to cluster "${printable(hello.cluster)}", not "${context.cluster}"`
    return { reason: 'other-cluster', detail }
  }
  if (hello.founding !== '' && context.founding !== '' && hello.founding !== context.founding) {
    // Whatever else differs follows from this.
    const detail =
      `member "${certified}" began with another list of members than this one: give all the same --initial-members, ` +
      'and a new --data-dir to the one whose list was wrong'
    return { reason: 'other-founding', detail }
  }
  if (hello.to !== context.self) {
    const detail = `member "${certified}" called member ${hello.to}, this is ${context.self}`
    return { reason: 'other-receiver', detail }
  }
  const own = context.identity()
  if (areApart(hello.identity, own)) {
    // Before anything is said of the members: what a member of another cluster knows of them is no
    // word on this caller.
    return { reason: 'other-cluster', detail: otherCluster(certified, hello.identity, own) }
  }
  const peer = context.peers.get(hello.from)
  if (peer === undefined) {
    return { reason: 'unknown-member', detail: `"${certified}" (${hello.from}) is not a member` }
  }
  if (peer.name !== certified) {
    const detail = `the certificate of "${certified}" was used as member "${peer.name}"`
    return { reason: 'other-member', detail }
  }
  return null
}

/**
 * Two processes may not speak as one member: each would take the other's acknowledgements for its
 * own.
 */
export function anotherProcess(certified: string | null): Refusal {
  return {
    reason: 'other-process',
    detail: `another process speaks as this member ("${String(certified)}"): stop one of the two`,
  }
}

/** The refusal that follows from a verdict on the caller's identity; null: none. */
export function refusalOf(
  verdict: PeerVerdict,
  certified: string | null,
  theirs: PeerIdentity,
  own: PeerIdentity,
): Refusal | null {
  switch (verdict) {
    case 'ok':
      return null
    case 'lost-log': {
      const detail = `member "${String(certified)}" was known by another log, which it lost`
      return { reason: 'lost-log', detail }
    }
    case 'other-cluster':
      return { reason: 'other-cluster', detail: otherCluster(String(certified), theirs, own) }
  }
}

/** One line on two members that belong to clusters which were founded apart. */
export function otherCluster(peerName: string, theirs: PeerIdentity, own: PeerIdentity): string {
  if (own.phase === 'gathering') {
    return (
      `member "${printable(peerName)}" belongs to cluster ${printable(theirs.clusterId)}, which was founded without the log ` +
      'of this member: bring its old data directory back, or let a new member take its place'
    )
  }
  return (
    `member "${printable(peerName)}" belongs to cluster ${printable(theirs.clusterId)}, this member to cluster ` +
    `${printable(own.clusterId)}, which was founded apart: give the one that is wrong here the data directory of this ` +
    'cluster, or other addresses'
  )
}

/** Whether two members certainly belong to clusters that were founded apart. */
export function areApart(one: PeerIdentity, other: PeerIdentity): boolean {
  return one.phase !== 'gathering' && other.phase !== 'gathering' && one.clusterId !== other.clusterId
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, '?').slice(0, 80)
}
