import { badRequest, serviceUnavailable, timeout } from '../../api/api-errors.ts'
import { isJsonObject } from '../../api/json.ts'
import { MembersFailure } from '../../cluster/members.ts'
import type { Members } from '../../cluster/members.ts'
import { ConsensusFailure } from '../../../raft/index.ts'
import { callOf } from '../fastify-types.ts'
import type { App, Request } from '../fastify-types.ts'
import { jsonBytes, sendJson } from './json.ts'

/** What `orchctl` asks a running member. */
export function clusterRoutes(app: App, members: Members): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/cluster/v1/status',
    handler: (request, reply) => sendJson(request, reply, jsonBytes(members.status())),
  })
  app.route({
    method: 'POST',
    url: '/cluster/v1/transfer-leader',
    handler: async (request, reply) => {
      const to = wantedLeader(request)
      try {
        await members.transferLeadership(to, callOf(request).deadlineMs)
      } catch (error) {
        throw translated(error)
      }
      sendJson(request, reply, jsonBytes(members.status()))
    },
  })
}

/** `{"to": "<name>"}` or null for whoever fits best. @throws ApiError `BadRequest` */
function wantedLeader(request: Request): string | null {
  const { body } = request
  if (!Buffer.isBuffer(body) || body.byteLength === 0) return null
  let parsed: unknown
  try {
    parsed = JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw badRequest('the body is not JSON', { cause })
  }
  const to = isJsonObject(parsed) ? (parsed['to'] ?? null) : undefined
  if (to !== null && typeof to !== 'string')
    throw badRequest('the body must be {"to": <name of a member or null>}')
  return to
}

function translated(error: unknown): unknown {
  if (error instanceof MembersFailure) {
    if (error.code === 'silent') return serviceUnavailable(error.message, { retryAfterSeconds: 1 })
    return badRequest(error.message, { cause: error })
  }
  if (!(error instanceof ConsensusFailure)) return error
  switch (error.code) {
    case 'not-a-voter':
      return badRequest(error.message, { cause: error })
    case 'timed-out':
      return timeout('leadership has not moved')
    case 'no-leader':
    case 'overloaded':
    case 'stopped':
      return serviceUnavailable(error.message, { retryAfterSeconds: 1 })
  }
}
