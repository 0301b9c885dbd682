import type { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import type { JsonObject } from '../../api/json.ts'
import { formatTime } from '../../api/metadata/time.ts'
import { durationMs } from '../../config/flag.ts'
import type { RequestContext } from '../../registry/calls/request.ts'
import type { Clock } from '../../../base/clock.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import type { ServerLog } from '../calls/server-log.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'
import { jsonBody } from './json-body.ts'

export type WebhookChange = {
  /** Name of the configuration. */
  readonly configuration: string
  /** null: the type that has a configuration of that name. */
  readonly type: 'mutating' | 'validating' | null
  /** Wall-clock time; null: resume. */
  readonly suspendedUntilMs: number | null
}

/** The webhooks as operators see them; those of admission can be suspended. */
export type OperatedWebhooks = {
  /** Returns the webhooks and their calls by this member. */
  readonly describe: () => readonly JsonObject[]
  /** @throws ApiError */
  readonly change: (context: RequestContext, change: WebhookChange) => Promise<void>
}

export const WEBHOOKS_PATH = '/cluster/v1/webhooks'

/** A suspension ends by itself, at the latest after this time. */
const SUSPENDED_MS_MAX = 24 * 3_600_000

export type WebhooksRoutesDependencies = {
  /** Unset: not served. */
  readonly webhooks?: OperatedWebhooks
  readonly clock: Pick<Clock, 'wallMs'>
  readonly memberName: string
  readonly log: ServerLog
}

/**
 * Serves the admission and conversion webhooks with the calls of this member, and suspends
 * configurations of admission webhooks: for users that are authorized for the path.
 */
export function webhooksRoutes(app: App, dependencies: WebhooksRoutesDependencies): void {
  const { webhooks, clock, memberName, log } = dependencies
  if (webhooks === undefined) return
  const shown = (): Uint8Array => jsonBytes({ member: memberName, webhooks: webhooks.describe() })
  app.route({
    method: ['GET', 'HEAD'],
    url: WEBHOOKS_PATH,
    handler: (request, reply) => sendJson(request, reply, shown()),
  })
  app.route({
    method: 'POST',
    url: WEBHOOKS_PATH,
    handler: async (request, reply) => {
      const call = callOf(request)
      const body = jsonBody(request, ['change', 'configuration', 'type', 'for'])
      const change = wantedChange(body, clock.wallMs())
      await webhooks.change(call, change)
      const { configuration, suspendedUntilMs } = change
      const until = suspendedUntilMs === null ? null : formatTime(suspendedUntilMs)
      call.annotate('webhooks-suspended', JSON.stringify({ configuration, until }))
      log.info({ user: call.user.name, configuration, until }, 'webhooks suspended or resumed')
      sendJson(request, reply, shown())
    },
  })
}

/** @throws ApiError `BadRequest` */
function wantedChange(body: JsonObject, wallMs: number): WebhookChange {
  const { change, configuration, type = null } = body
  if (typeof configuration !== 'string' || configuration === '') throw wrong('configuration must be a name')
  if (type !== null && type !== 'mutating' && type !== 'validating') {
    throw wrong('type must be mutating or validating')
  }
  if (change === 'resume') return { configuration, type, suspendedUntilMs: null }
  if (change !== 'suspend') throw wrong('change must be suspend or resume')
  const ms = typeof body['for'] === 'string' ? durationMs(body['for']) : null
  if (ms === null || ms < 1000 || ms > SUSPENDED_MS_MAX) {
    throw wrong('for must be a duration from 1s to 24h, such as 10m')
  }
  return { configuration, type, suspendedUntilMs: wallMs + ms }
}

function wrong(why: string): ApiError {
  return badRequest(why)
}
