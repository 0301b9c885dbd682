import { Buffer } from 'node:buffer'
import { assertNever } from '../../base/assert.ts'
import { featureLevelsMax, memberTextBytesMax, membersMax } from './config.ts'
import type { MemberChange } from './member-change.ts'
import type { Configuration, MemberInfo, NodeId } from './types.ts'

/**
 * Returns the rule that the configuration breaks, in a few words; null when it is valid.
 */
export function configurationFault(configuration: Configuration): string | null {
  return wrongLists(configuration) ?? wrongParts(configuration) ?? wrongMembers(configuration)
}

function wrongLists({
  voters,
  votersOutgoing,
  learners,
  learnersNext,
  members,
}: Configuration): string | null {
  const ids = members.map(({ id }) => id)
  for (const list of [voters, votersOutgoing ?? [], learners, learnersNext, ids])
    if (!ascends(list)) return 'ids ascend'
  return null
}

function ascends(ids: readonly NodeId[]): boolean {
  return ids.every((id, at) => at === 0 || (ids[at - 1] ?? id) < id)
}

function wrongParts(configuration: Configuration): string | null {
  const { voters, votersOutgoing, learners, learnersNext, members, autoLeave } = configuration
  const voting = new Set([...voters, ...(votersOutgoing ?? [])])
  if (learners.some((id) => voting.has(id))) return 'a learner is no voter'
  if (learnersNext.some((id) => votersOutgoing?.includes(id) !== true))
    return 'a next learner is an outgoing voter'
  const everyone = new Set([...voting, ...learners])
  if (members.length !== everyone.size) return 'each member is listed once'
  if (members.some(({ id }) => !everyone.has(id))) return 'each member is a voter or a learner'
  return votersOutgoing !== null || !autoLeave ? null : 'only a joint configuration has auto-leave'
}

function wrongMembers({ members }: Configuration): string | null {
  // A joint configuration has both the joining and the leaving members.
  if (members.length > 2 * membersMax) return `at most ${2 * membersMax} members`
  for (const member of members) {
    const fault = memberFault(member)
    if (fault !== null) return fault
  }
  return null
}

/**
 * Returns the rule that the change breaks in every configuration, in a few words; null when it
 * breaks none.
 */
export function changeFault(change: MemberChange): string | null {
  switch (change.kind) {
    case 'add':
      return memberFault(change.member) ?? missingFault(change.member.peerAddress)
    case 'move':
      return movedFault(change.peerAddress) ?? textFault(change.clientAddress ?? '')
    case 'remove':
    case 'set-role':
    case 'promote':
      return null
    default:
      return assertNever(change)
  }
}

/** Returns the rule that the member breaks, in a few words; null when it breaks none. */
function memberFault(member: Omit<MemberInfo, 'role'>): string | null {
  if (!label.test(member.name)) return 'the name of a member is a DNS label'
  if (member.featureLevel > featureLevelsMax) return `a feature level is at most ${featureLevelsMax}`
  if (!Number.isSafeInteger(member.featureLevel) || member.featureLevel < 0)
    return 'a feature level is a whole number'
  return addressFault(member.peerAddress) ?? textFault(member.clientAddress) ?? textFault(member.version)
}

function movedFault(peerAddress: string | null): string | null {
  return peerAddress === null ? null : (addressFault(peerAddress) ?? missingFault(peerAddress))
}

/**
 * Checks that there is a peer address. Only a member that founds a cluster alone may lack it; the
 * peers of any other member connect to it.
 */
function missingFault(peerAddress: string): string | null {
  return peerAddress === '' ? 'a member of a cluster with several members needs a peer address' : null
}

/** Checks the length of a text: followers cannot decode longer ones. */
function textFault(text: string): string | null {
  return Buffer.byteLength(text) <= memberTextBytesMax
    ? null
    : `an address or version has at most ${memberTextBytesMax} bytes`
}

function addressFault(address: string): string | null {
  const port = /:(\d+)$/.exec(address)?.[1]
  if (port !== undefined && Number(port) > portMax) return `a peer address has a port up to ${portMax}`
  return textFault(address)
}

/** @source RFC 1123 section 2.1 */
const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const portMax = 65_535
