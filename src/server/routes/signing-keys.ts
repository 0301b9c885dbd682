import { badRequest } from '../../api/errors/standard-errors.ts'
import { formatTime } from '../../api/metadata/time.ts'
import { rotationMsMax, rotationMsMin } from '../../key-ring/signing-keys.ts'
import type { KeyRing } from '../../key-ring/key-ring.ts'
import { useOf } from '../../key-ring/signing-keys.ts'
import type { SigningKeys } from '../../key-ring/signing-keys.ts'
import type { Clock } from '../../../base/clock.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Request } from '../calls/fastify-types.ts'
import type { ServerLog } from '../calls/server-log.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'
import { jsonBody } from './json-body.ts'
import { answered } from './key-ring-answer.ts'

/** The part of the key ring that operators see and change. */
export type OperatedKeys = Pick<KeyRing, 'read' | 'rotate' | 'revoke' | 'setRotation'>

export const SIGNING_KEYS_PATH = '/cluster/v1/signing-keys'

type SigningKeysRoutesDependencies = {
  /** Unset: not served. */
  readonly signingKeys?: OperatedKeys
  readonly clock: Pick<Clock, 'wallMs'>
  readonly log: ServerLog
}

/**
 * Serves the shared signing keys of service account tokens, without private keys, and changes
 * them: for users that are authorized for the path.
 */
export function signingKeysRoutes(
  app: App,
  { signingKeys, clock, log }: SigningKeysRoutesDependencies,
): void {
  if (signingKeys === undefined) return
  const url = SIGNING_KEYS_PATH
  const shown = (keys: SigningKeys): Uint8Array => jsonBytes(keysBody(keys, clock.wallMs()))
  app.route({
    method: ['GET', 'HEAD'],
    url,
    handler: async (request, reply) => {
      const keys = await answered(signingKeys.read(callOf(request).deadlineMs))
      sendJson(request, reply, shown(keys))
    },
  })
  app.route({
    method: 'POST',
    url,
    handler: async (request, reply) => {
      const { deadlineMs, user } = callOf(request)
      const change = wantedChange(request)
      const keys = await answered(changed(signingKeys, change, deadlineMs))
      log.info({ user: user.name, change }, 'signing keys changed')
      sendJson(request, reply, shown(keys))
    },
  })
}

type KeyChange =
  | { readonly change: 'rotate' }
  | { readonly change: 'revoke'; readonly id: string }
  | { readonly change: 'set-rotation'; readonly rotationMs: number }

function changed(keys: OperatedKeys, change: KeyChange, deadlineMs: number): Promise<SigningKeys> {
  switch (change.change) {
    case 'rotate':
      return keys.rotate(deadlineMs)
    case 'revoke':
      return keys.revoke(change.id, deadlineMs)
    case 'set-rotation':
      return keys.setRotation(change.rotationMs, deadlineMs)
  }
}

/** @throws ApiError `BadRequest` */
function wantedChange(request: Request): KeyChange {
  const { change, id, rotationMs } = jsonBody(request, ['change', 'id', 'rotationMs'])
  if (change === 'rotate') return { change }
  if (change === 'revoke') {
    if (typeof id === 'string' && id !== '') return { change, id }
    throw badRequest('id must be that of a key')
  }
  if (change !== 'set-rotation') throw badRequest('change must be rotate, revoke or set-rotation')
  const isNumber = typeof rotationMs === 'number' && Number.isSafeInteger(rotationMs)
  if (isNumber && (rotationMs === 0 || (rotationMs >= rotationMsMin && rotationMs <= rotationMsMax))) {
    return { change, rotationMs }
  }
  throw badRequest(`rotationMs must be 0 (never) or from ${rotationMsMin} to ${rotationMsMax}`)
}

function keysBody(all: SigningKeys, nowMs: number): object {
  return {
    rotationMs: all.rotationMs,
    keys: all.keys.map((key) => ({
      id: key.id,
      use: useOf(key, all, nowMs),
      created: formatTime(key.createdMs),
      signsFrom: formatTime(key.signsFromMs),
      members: Object.keys(key.sealed?.recipients ?? {}),
    })),
  }
}
