import { CodedError } from '../../base/coded-error.ts'
import type { Configuration, MemberInfo } from '../../raft/index.ts'
import type { JoinRecord, Joining, JoinSeat } from './join-record.ts'
import type { JoinRequest } from './join-request.ts'

/**
 * Why a process may not join. The message is one line with the remedy.
 *
 * - `unknown-token`: no such token, or its secret differs
 * - `used`: another process joined, or joins, with it
 * - `expired`: it was not used in time
 * - `removed`: the member that joined with it has been removed
 * - `other-member`: it was made for another name or other addresses
 * - `other-cluster`: the process names another cluster or API domain
 * - `other-keys`: its authorities are not the cluster's
 * - `other-rules`: its program does not support the cluster's feature level
 * - `name-taken`, `address-taken`: another member has it
 * - `replaced-gone`: the member to replace is no longer a member
 * - `not-founded`: the receiving member cannot decide yet; the same request may succeed later
 */
export type JoinErrorCode =
  | 'unknown-token'
  | 'used'
  | 'expired'
  | 'removed'
  | 'other-member'
  | 'other-cluster'
  | 'other-keys'
  | 'other-rules'
  | 'name-taken'
  | 'address-taken'
  | 'replaced-gone'
  | 'not-founded'

export class JoinError extends CodedError<JoinErrorCode> {}

/** The cluster as known to the member that receives the request. */
export type JoinKnowledge = {
  readonly clusterName: string
  readonly apiDomain: string
  readonly fingerprints: Readonly<Record<string, string>>
  readonly featureLevel: number
  readonly version: string
  readonly members: readonly Pick<MemberInfo, 'id' | 'name' | 'peerAddress' | 'clientAddress'>[]
  /** Wall-clock ms. */
  readonly nowMs: number
}

/**
 * Decides whether the holder of a token may join. Its secret was checked before.
 *
 * @returns the id drawn in an earlier attempt, or null
 * @throws JoinError
 */
export function judgeJoin(record: JoinRecord, request: JoinRequest, known: JoinKnowledge): Joining | null {
  const { seat, joining } = record
  if (joining !== null && joining.nonce !== request.nonce) {
    const what = `another process joined with this token as ${seat.name}`
    throw refused('used', `${what}: a token serves one data directory once; ${anotherToken(seat)}`)
  }
  const inPlace = known.members.some(({ id }) => id === joining?.memberId)
  if (joining?.joined === true && !inPlace) {
    throw refused(
      'removed',
      `${seat.name} joined with this token and has been removed: ${anotherToken(seat)}`,
    )
  }
  if (joining === null && known.nowMs >= record.expiresMs) {
    const when = new Date(record.expiresMs).toISOString()
    throw refused('expired', `the token expired at ${when}: ${anotherToken(seat)}`)
  }
  checkSeat(seat, request)
  checkCluster(request, known)
  if (!inPlace) checkPlace(seat, known)
  return joining
}

/** @throws JoinError `other-member` */
function checkSeat(seat: JoinSeat, request: JoinRequest): void {
  for (const [what, wanted, given, flag] of [
    ['member', seat.name, request.name, '--name'],
    ['a member that peers dial at', seat.peerAddress, request.peerAddress, '--peer-address'],
    ['a member that clients dial at', seat.clientAddress, request.clientAddress, '--advertise-address'],
  ] as const) {
    if (wanted === given) continue
    const other = given === '' ? 'this process has no such setting' : `this process has ${given}`
    throw refused(
      'other-member',
      `the token is for ${what} ${wanted}, ${other}: start with ${flag} ${wanted}, or make another token`,
    )
  }
}

/** @throws JoinError `other-cluster`, `other-keys`, `other-rules` */
function checkCluster(request: JoinRequest, known: JoinKnowledge): void {
  for (const [what, wanted, given, flag] of [
    ['the API domain of this cluster is', known.apiDomain, request.apiDomain, '--api-domain'],
    ['the name of this cluster is', known.clusterName, request.clusterName, '--cluster-name'],
  ] as const) {
    if (wanted === given) continue
    throw refused('other-cluster', `${what} ${wanted}, not ${given}: start with ${flag} ${wanted}`)
  }
  for (const [name, print] of Object.entries(known.fingerprints)) {
    if (request.fingerprints[name] === print) continue
    const flag = name === 'client-ca' ? '--client-ca-file' : '--peer-ca-file'
    const remedy = `give ${flag} the file that the other members have`
    throw refused('other-keys', `the ${name} of this process is not the cluster's: ${remedy}`)
  }
  checkRules(request, known)
}

/** @throws JoinError `other-rules` */
export function checkRules(
  request: Pick<JoinRequest, 'version' | 'featureLevelMax'>,
  known: Pick<JoinKnowledge, 'featureLevel' | 'version'>,
): void {
  if (request.featureLevelMax >= known.featureLevel) return
  const has = `version ${request.version} supports feature level ${request.featureLevelMax}`
  const remedy = `start the version that the other members run, such as ${known.version}`
  throw refused('other-rules', `${has}, the cluster is at ${known.featureLevel}: ${remedy}`)
}

/** @throws JoinError `name-taken`, `address-taken`, `replaced-gone` */
function checkPlace(seat: JoinSeat, known: JoinKnowledge): void {
  const { name, replaces } = seat
  if (known.members.some((member) => member.name === name)) {
    const remedy = `orchctl member remove ${name} if it is gone for good, or take another name`
    throw refused('name-taken', `there is a member ${name} already: ${remedy}`)
  }
  if (replaces !== null && !known.members.some(({ id }) => id === replaces.id)) {
    const remedy = `orchctl member add ${name} makes a token without a replacement`
    throw refused(
      'replaced-gone',
      `${replaces.name}, which ${name} should replace, is not a member: ${remedy}`,
    )
  }
  const taken = takenAddress(seat, replaces?.name ?? null, known.members)
  if (taken !== null) {
    const remedy = `make another token with an address of its own, or orchctl member remove ${taken.by}`
    throw refused('address-taken', `${taken.address} is the address of ${taken.by}: ${remedy}`)
  }
}

function anotherToken({ name }: JoinSeat): string {
  return `orchctl member add ${name} makes another`
}

function refused(code: JoinErrorCode, message: string): JoinError {
  return new JoinError(code, message)
}

/** Why no token can be made for a requested member. */
export type SeatProblem =
  | { readonly kind: 'name-taken' | 'address-taken'; readonly message: string }
  | { readonly kind: 'no-such-voter'; readonly message: string }

/**
 * Returns the member that matches the request exactly. Such a member shows that the request was
 * carried out before, perhaps without a response to the caller. The member to replace is removed
 * once the new one has caught up, or is gone already.
 *
 * @param replaces name
 * @returns null: none, or a different member
 */
export function seatedMember(
  seat: Pick<JoinSeat, 'name' | 'role' | 'peerAddress' | 'clientAddress'>,
  replaces: string | null,
  { members }: Pick<Configuration, 'members'>,
): MemberInfo | null {
  const member = members.find(({ name }) => name === seat.name)
  if (member?.wantedRole !== seat.role) return null
  if (member.peerAddress !== seat.peerAddress || member.clientAddress !== seat.clientAddress) return null
  const old = members.find(({ name }) => name === replaces)
  return member.replaces === (old?.id ?? null) ? member : null
}

/** Returns null if the name and the addresses are free. */
export function seatProblem(
  seat: { readonly name: string; readonly peerAddress: string; readonly clientAddress: string },
  replaces: string | null,
  { members, voters }: Pick<Configuration, 'members' | 'voters'>,
): SeatProblem | null {
  const same = members.find(({ name }) => name === seat.name)
  const old = members.find(({ name }) => name === replaces)
  if (same !== undefined && old !== undefined && same.replaces !== old.id) {
    const remedy = `orchctl member remove ${old.name} removes it alone`
    const message = `${same.name} is a member already and does not replace ${old.name}: ${remedy}`
    return { kind: 'name-taken', message }
  }
  if (same !== undefined) {
    const message = `there is a member ${seat.name} already, a ${same.role} at ${same.peerAddress}`
    return {
      kind: 'name-taken',
      message: `${message}: take another name, or orchctl member remove ${seat.name}`,
    }
  }
  const taken = takenAddress(seat, replaces, members)
  if (taken !== null) {
    const message = `${taken.address} is the address of ${taken.by}: give an address of its own`
    return { kind: 'address-taken', message }
  }
  if (replaces === null) return null
  if (old !== undefined && voters.includes(old.id)) return null
  const names = members.filter(({ id }) => voters.includes(id)).map(({ name }) => name)
  const what = old === undefined ? `there is no member ${replaces}` : `${replaces} is not a voter`
  return { kind: 'no-such-voter', message: `${what}: the voters are ${names.join(', ')}` }
}

/** Returns null if no other member has the addresses. */
function takenAddress(
  seat: Pick<MemberInfo, 'peerAddress' | 'clientAddress'>,
  replaces: string | null,
  members: readonly Pick<MemberInfo, 'name' | 'peerAddress' | 'clientAddress'>[],
): { readonly address: string; readonly by: string } | null {
  for (const { name, peerAddress, clientAddress } of members) {
    // The successor may use the addresses of the member it replaces.
    if (name === replaces) continue
    const address = [peerAddress, clientAddress].find(
      (one) => one !== '' && (one === seat.peerAddress || one === seat.clientAddress),
    )
    if (address !== undefined) return { address, by: name }
  }
  return null
}
