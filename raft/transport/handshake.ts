import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerIdentity, PeerVerdict } from '../ports.ts'
import type { RefusalReason } from './events.ts'
import type { Hello } from './frame-codec.ts'
import { commonProtocol, protocolNewest, protocolOldest } from './protocol-version.ts'

/** Why a caller is refused. `detail` is one line for the operators of both sides. */
export type Refusal = { readonly reason: RefusalReason; readonly detail: string }

/** The state of this member that a hello is checked against. */
export type HandshakeContext = {
  readonly cluster: string
  readonly self: NodeId
  /** See `GrpcTransportOptions`. */
  readonly founding: string
  readonly peers: ReadonlyMap<NodeId, MemberInfo>
  /** See `Transport.setPeers`. */
  readonly decidedIndex: LogIndex
  /** See `TransportReceiver`. */
  readonly identity: () => PeerIdentity
  /** See `TransportReceiver`. */
  readonly verify: (peer: NodeId, identity: PeerIdentity) => Promise<PeerVerdict>
}

/**
 * Checks a hello: its protocol versions, its cluster name, its founding members, the caller's
 * certificate, which alone proves its identity, this member's configuration, and its cluster ID
 * unless one of the two is still gathering. `HandshakeContext.verify` checks the log ID, and the
 * cluster ID again.
 *
 * @param certified the member that the caller's verified certificate names; null without one
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
      `member "${certified}" supports peer protocol ${hello.protocol} to ${Math.max(hello.protocol, hello.protocolMax)}, ` +
      `this member ${protocolOldest} to ${protocolNewest}: run consecutive versions on both`
    return { reason: 'other-protocol', detail }
  }
  if (hello.cluster !== context.cluster) {
    const detail = `member "${certified}" belongs to cluster "${printable(hello.cluster)}", not "${context.cluster}"`
    return { reason: 'other-cluster', detail }
  }
  if (hello.founding !== '' && context.founding !== '' && hello.founding !== context.founding) {
    // Checked before ids and members, which differ as a consequence if the lists differ.
    const detail =
      `member "${certified}" began with another list of members than this one: give all the same --initial-members, ` +
      'and a new --data-dir to the member that had a wrong list'
    return { reason: 'other-founding', detail }
  }
  if (hello.to !== context.self) {
    const detail = `member "${certified}" called member ${hello.to}, this is ${context.self}`
    return { reason: 'other-receiver', detail }
  }
  const own = context.identity()
  if (areApart(hello.identity, own)) {
    // Checked before the members: a caller from another cluster must not receive the refusal of a
    // removed member.
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
 * Returns the refusal of a second process of one member: each process would receive
 * acknowledgements for messages of the other.
 */
export function anotherProcess(certified: string | null): Refusal {
  return {
    reason: 'other-process',
    detail: `another process is connected as this member ("${String(certified)}"): stop one of the two`,
  }
}

/** Returns the refusal for a verdict on the caller's identity; null: the caller is accepted. */
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
      const detail = `member "${String(certified)}" is recorded with another log, which it lost`
      return { reason: 'lost-log', detail }
    }
    case 'other-cluster':
      return { reason: 'other-cluster', detail: otherCluster(String(certified), theirs, own) }
  }
}

/** Returns one line about two members of clusters that were founded separately. */
export function otherCluster(peerName: string, theirs: PeerIdentity, own: PeerIdentity): string {
  if (own.phase === 'gathering') {
    return (
      `member "${printable(peerName)}" belongs to cluster ${printable(theirs.clusterId)}, which was founded without the log ` +
      'of this member: restore its old data directory, or replace it by a new member'
    )
  }
  return (
    `member "${printable(peerName)}" belongs to cluster ${printable(theirs.clusterId)}, this member to cluster ` +
    `${printable(own.clusterId)}, which was founded separately: give the member that is in the wrong cluster the data directory of ` +
    'the right one, or give it other addresses'
  )
}

/** Returns whether two members certainly belong to clusters that were founded separately. */
export function areApart(one: PeerIdentity, other: PeerIdentity): boolean {
  return one.phase !== 'gathering' && other.phase !== 'gathering' && one.clusterId !== other.clusterId
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, '?').slice(0, 80)
}
