import type { ApiError } from '../../api/errors/api-error.ts'
import { badRequest, serviceUnavailable, timeout } from '../../api/errors/standard-errors.ts'
import { isJsonObject } from '../../api/json.ts'
import { MembersError } from '../../membership/members.ts'
import type { Members } from '../../membership/members.ts'
import { ConsensusError } from '../../../raft/index.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Request } from '../calls/fastify-types.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'

/** Cluster status and leadership transfer, for `orchctl`. */
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
      const { to, from } = wantedLeader(request)
      try {
        await members.transferLeadership(to, callOf(request).deadlineMs, from)
      } catch (error) {
        throw translated(error)
      }
      sendJson(request, reply, jsonBytes(members.status()))
    },
  })
}

type Names = { readonly to: string | null; readonly from: string | null }

/**
 * Parses the body. `to` is the name of the new leader; null: the best candidate. `from` is the name
 * of the leader that the caller saw; null: not known.
 * @throws ApiError `BadRequest`
 */
function wantedLeader(request: Request): Names {
  const { body } = request
  if (!Buffer.isBuffer(body) || body.byteLength === 0) return { to: null, from: null }
  let parsed: unknown
  try {
    parsed = JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw badRequest('the body is not JSON', { cause })
  }
  if (!isJsonObject(parsed)) throw noNames()
  return { to: nameIn(parsed['to']), from: nameIn(parsed['from']) }
}

function nameIn(value: unknown): string | null {
  const name = value ?? null
  if (name === null || typeof name === 'string') return name
  throw noNames()
}

function noNames(): ApiError {
  return badRequest('the body must be {"to": <name of a member or null>, "from": <name of a member or null>}')
}

function translated(error: unknown): unknown {
  if (error instanceof MembersError) {
    if (error.code === 'silent') return serviceUnavailable(error.message, { retryAfterSeconds: 1 })
    return badRequest(error.message, { cause: error })
  }
  if (!(error instanceof ConsensusError)) return error
  switch (error.code) {
    case 'not-a-voter':
      return badRequest(error.message, { cause: error })
    case 'timed-out':
      return timeout('leadership was not transferred in time')
    case 'target-silent':
    case 'target-behind':
    case 'target-declined':
    case 'no-leader':
    case 'overloaded':
    case 'stopped':
      return serviceUnavailable(error.message, { retryAfterSeconds: 1 })
  }
}
