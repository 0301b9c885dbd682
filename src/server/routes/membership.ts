import { nodeId } from '../../../raft/index.ts'
import type { NodeId } from '../../../raft/index.ts'
import { badRequest, forbidden } from '../../api/errors/standard-errors.ts'
import type { JsonObject } from '../../api/json.ts'
import { formatTime } from '../../api/metadata/time.ts'
import { JOIN_TOKEN_EXTRA } from '../../auth/user.ts'
import type {
  IssuedToken,
  JoinService,
  EnrolledMember,
  RequestedMember,
} from '../../membership/join-service.ts'
import type { MemberAdmin, NamedChange } from '../../membership/member-admin.ts'
import type { Members } from '../../membership/members.ts'
import type { StateDecision, StateRepair } from '../../membership/state-repair.ts'
import { joinRequestOf } from '../../membership/join-request.ts'
import { isJoinTokenId } from '../../membership/join-token.ts'
import type { JoinAnswer } from '../../membership/join-request.ts'
import { checkMemberName, memberAddress } from '../../config/address.ts'
import { ConfigError } from '../../config/errors.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Request } from '../calls/fastify-types.ts'
import { field, jsonBody } from './json-body.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'
import { membershipError } from './membership-errors.ts'
import type { ServerLog } from '../calls/server-log.ts'

export type MembershipDependencies = {
  readonly members: Members
  readonly joinService: Pick<JoinService, 'issue' | 'join'>
  readonly memberAdmin: Pick<MemberAdmin, 'change'>
  readonly stateRepair: Pick<StateRepair, 'decide'>
  readonly log: ServerLog
}

/**
 * Routes for membership changes. Tokens and changes are for users that are authorized for the path:
 * cluster administrators, unless an operator grants it to others; joining is for holders of a
 * token.
 */
export function membershipRoutes(app: App, dependencies: MembershipDependencies): void {
  const { joinService, memberAdmin, stateRepair, members, log } = dependencies
  app.route({
    method: 'POST',
    url: '/cluster/v1/join-tokens',
    handler: async (request, reply) => {
      const { deadlineMs, user } = callOf(request)
      const issued = await translated(joinService.issue(requestedMember(request), deadlineMs))
      if (issued.kind === 'token') {
        log.info({ user: user.name, member: issued.seat }, 'join token created')
        sendJson(request, reply, jsonBytes(tokenBody(issued)), 201)
      } else sendJson(request, reply, jsonBytes(enrolledBody(issued)))
    },
  })
  app.route({
    method: 'POST',
    url: '/cluster/v1/join',
    handler: async (request, reply) => {
      const { deadlineMs, caller, impersonated } = callOf(request)
      const [tokenId] = caller.extra[JOIN_TOKEN_EXTRA] ?? []
      // A caller can impersonate the user of a token without the token's secret.
      if (tokenId === undefined || impersonated !== null || !isJoinTokenId(tokenId))
        throw forbidden({ group: '', resource: '' }, '', 'joining needs a join token (orchctl member add)')
      const wanted = joinRequestOf(parsed(request))
      if (wanted === null)
        throw badRequest('this is not a join request: run the same version as the other members')
      const answer = await translated(joinService.join(tokenId, wanted, deadlineMs))
      log.info(
        { member: wanted.name, id: answer.memberId, index: answer.configurationIndex },
        'member joined',
      )
      sendJson(request, reply, jsonBytes(answerBody(answer)))
    },
  })
  app.route({
    method: 'POST',
    url: '/cluster/v1/members',
    handler: async (request, reply) => {
      const { deadlineMs, user } = callOf(request)
      const wanted = wantedChange(request)
      const isDecision = wanted.kind === 'repair' || wanted.kind === 'trust'
      const change = isDecision
        ? stateRepair.decide(wanted, deadlineMs)
        : memberAdmin.change(wanted, deadlineMs)
      const changed = await translated(change)
      if (changed) log.info({ user: user.name, change: wanted }, 'members changed')
      sendJson(request, reply, jsonBytes({ changed, ...members.status() }))
    },
  })
}

async function translated<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    throw membershipError(cause)
  }
}

function parsed(request: Request): unknown {
  const { body } = request
  try {
    return JSON.parse(Buffer.isBuffer(body) ? body.toString('utf8') : '')
  } catch (cause) {
    throw badRequest('the body is not JSON', { cause })
  }
}

/** @throws ApiError `BadRequest` */
function requestedMember(request: Request): RequestedMember {
  const body = jsonBody(request, ['name', 'role', 'peerAddress', 'clientAddress', 'replaces'])
  const { replaces = null, role = 'voter' } = body
  return {
    name: field('name', body['name'], checkMemberName),
    role: field('role', role, roleOf),
    peerAddress: field('peerAddress', body['peerAddress'], memberAddress),
    clientAddress: field('clientAddress', body['clientAddress'], memberAddress),
    replaces: replaces === null ? null : field('replaces', replaces, checkMemberName),
  }
}

/** @throws ApiError `BadRequest` */
function wantedChange(request: Request): NamedChange | StateDecision {
  const body = jsonBody(request, ['change', 'name', 'id', 'role', 'peerAddress', 'clientAddress', 'from'])
  const name = field('name', body['name'], checkMemberName)
  const id = (body['id'] ?? null) === null ? null : field('id', body['id'], idOf)
  switch (body['change']) {
    case 'remove':
      return { kind: 'remove', name, id }
    case 'set-role':
      return { kind: 'set-role', name, id, role: field('role', body['role'], roleOf) }
    case 'move':
      return {
        kind: 'move',
        name,
        id,
        peerAddress: optionalAddress('peerAddress', body),
        clientAddress: optionalAddress('clientAddress', body),
      }
    case 'repair': {
      const from = body['from'] ?? null
      return { kind: 'repair', name, id, from: from === null ? null : field('from', from, checkMemberName) }
    }
    case 'trust':
      return { kind: 'trust', name, id }
    default:
      throw badRequest('change must be one of remove, set-role, move, repair, trust')
  }
}

function optionalAddress(name: string, body: JsonObject): string | null {
  const value = body[name] ?? null
  return value === null ? null : field(name, value, memberAddress)
}

function roleOf(text: string): 'voter' | 'learner' {
  if (text === 'voter' || text === 'learner') return text
  throw new ConfigError('must be voter or learner')
}

function idOf(text: string): NodeId {
  const value = Number(text)
  if (/^[1-9][0-9]*$/.test(text) && Number.isSafeInteger(value)) return nodeId(value)
  throw new ConfigError('must be an id from /cluster/v1/status')
}

/** Returns the body for a member that has joined already: `joined` instead of a token. */
function enrolledBody({ member, replaces }: EnrolledMember): JsonObject {
  const { name, role, wantedRole, peerAddress, clientAddress } = member
  const seat = { name, role: wantedRole, peerAddress, clientAddress, replaces }
  return { joined: true, votes: role === 'voter', member: seat }
}

function tokenBody({ token, expiresMs, seat, clusterName, apiDomain, addresses }: IssuedToken): JsonObject {
  const { name, role, peerAddress, clientAddress, replaces } = seat
  return {
    ...{ token, expires: formatTime(expiresMs), clusterName, apiDomain, addresses },
    member: { name, role, peerAddress, clientAddress, replaces: replaces?.name ?? null },
  }
}

/** Ids are decimal text: they are wider than 32 bits. */
function answerBody(answer: JoinAnswer): JsonObject {
  return {
    ...answer,
    memberId: String(answer.memberId),
    members: answer.members.map((member) => ({
      ...member,
      id: String(member.id),
      replaces: member.replaces === null ? null : String(member.replaces),
    })),
  }
}
