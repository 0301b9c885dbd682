import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { RefusalReason } from './events.ts'
import type { Hello } from './frame-codec.ts'
import { commonProtocol, protocolNewest, protocolOldest } from './protocol-version.ts'
import type { Introduction } from './guests.ts'

/** Why a caller may not come in. `detail` is one line for the operators of both sides. */
export type Refusal = { readonly reason: RefusalReason; readonly detail: string }

/** What a caller's greeting is held against. */
export type Doorkeeper = {
  readonly cluster: string
  readonly self: NodeId
  /** See `GrpcTransportOptions`. */
  readonly founding: string
  readonly peers: ReadonlyMap<NodeId, MemberInfo>
  /** See `Transport.setPeers`. */
  readonly decidedIndex: LogIndex
  /** See `Guests`. */
  readonly admits: (caller: Introduction) => boolean
  /** See `TransportReceiver`. */
  readonly meet: (peer: NodeId, logId: string) => Promise<'welcome' | 'lost-log'>
}

/**
 * The certificate is the only word believed: the greeting must fit it and this member.
 *
 * @param certified the member that the caller's verified certificate names; null when none
 * @returns null: welcome
 */
export function refuse(door: Doorkeeper, certified: string | null, hello: Hello): Refusal | null {
  if (certified === null) {
    return { reason: 'identity', detail: 'the peer certificate names no member' }
  }
  if (commonProtocol(hello) === null) {
    const detail =
      `member "${certified}" speaks peer protocol ${hello.protocol} to ${Math.max(hello.protocol, hello.protocolMax)}, ` +
      `this member ${protocolOldest} to ${protocolNewest}: let both run versions that follow each other`
    return { reason: 'other-protocol', detail }
  }
  if (hello.cluster !== door.cluster) {
    const detail = `member "${certified}" belongs to cluster "${printable(hello.cluster)}", not "${door.cluster}"`
    return { reason: 'other-cluster', detail }
  }
  if (hello.founding !== '' && door.founding !== '' && hello.founding !== door.founding) {
    // Whatever else differs follows from this.
    const detail =
      `member "${certified}" began with another list of members than this one: give all the same --initial-members, ` +
      'and a new --data-dir to the one whose list was wrong'
    return { reason: 'other-founding', detail }
  }
  if (hello.to !== door.self) {
    const detail = `member "${certified}" called member ${hello.to}, this is ${door.self}`
    return { reason: 'other-receiver', detail }
  }
  const peer = door.peers.get(hello.from)
  if (peer === undefined) {
    const { from: id, address: peerAddress, decidedIndex } = hello
    if (door.admits({ id, name: certified, peerAddress, decidedIndex })) return null
    return { reason: 'unknown-member', detail: `"${certified}" (${hello.from}) is not a member` }
  }
  if (peer.name !== certified) {
    const detail = `the certificate of "${certified}" was used as member "${peer.name}"`
    return { reason: 'other-member', detail }
  }
  return null
}

/** Two processes may not speak as one member: each would take the other's acknowledgements for its own. */
export function anotherProcess(certified: string | null): Refusal {
  return {
    reason: 'other-process',
    detail: `another process speaks as this member ("${String(certified)}"): stop one of the two`,
  }
}

/** What a member that lost its log is told, by those who knew it. */
export function lostLog(certified: string | null): Refusal {
  return {
    reason: 'lost-log',
    detail: `member "${String(certified)}" was known by another log, which it lost`,
  }
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, '?').slice(0, 80)
}
