import { badRequest } from '../../api/errors/standard-errors.ts'
import { formatTime } from '../../api/metadata/time.ts'
import type { AuthorityRing } from '../../key-ring/authority-ring.ts'
import { authorityReport } from '../../key-ring/authority-report.ts'
import { rotationSteps } from '../../key-ring/authority-stages.ts'
import type { RotationStep, SharedAuthority } from '../../key-ring/authority-stages.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Request } from '../calls/fastify-types.ts'
import type { ServerLog } from '../calls/server-log.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'
import { jsonBody } from './json-body.ts'
import { answered } from './key-ring-answer.ts'

/** The part of the authority ring that operators see and change. */
export type OperatedAuthorities = Pick<AuthorityRing, 'read' | 'rotate'>

export const SIGNING_AUTHORITIES_PATH = '/cluster/v1/signing-authorities'

/**
 * Serves the shared authorities that sign certificate requests, without private keys, and takes the
 * steps of their rotation: for users that are authorized for the path.
 */
export function signingAuthoritiesRoutes(
  app: App,
  { signingAuthorities, log }: { readonly signingAuthorities?: OperatedAuthorities; readonly log: ServerLog },
): void {
  if (signingAuthorities === undefined) return
  const url = SIGNING_AUTHORITIES_PATH
  app.route({
    method: ['GET', 'HEAD'],
    url,
    handler: async (request, reply) => {
      const all = await answered(signingAuthorities.read(callOf(request).deadlineMs))
      sendJson(request, reply, bodyOf(all))
    },
  })
  app.route({
    method: 'POST',
    url,
    handler: async (request, reply) => {
      const { deadlineMs, user } = callOf(request)
      const step = wantedStep(request)
      const all = await answered(signingAuthorities.rotate(step, deadlineMs))
      log.info({ user: user.name, step }, 'signing authorities changed')
      sendJson(request, reply, bodyOf(all))
    },
  })
}

/** @throws ApiError `BadRequest` */
function wantedStep(request: Request): RotationStep {
  const { step } = jsonBody(request, ['step'])
  const known = rotationSteps.find((one) => one === step)
  if (known === undefined) throw badRequest(`step must be ${rotationSteps.join(', ')}`)
  return known
}

function bodyOf(all: readonly SharedAuthority[]): Uint8Array {
  const { phase, authorities } = authorityReport(all)
  return jsonBytes({
    phase,
    authorities: authorities.map(({ notBeforeMs, notAfterMs, ...one }) => ({
      ...one,
      ...{ notBefore: formatTime(notBeforeMs), expires: formatTime(notAfterMs) },
    })),
  })
}
