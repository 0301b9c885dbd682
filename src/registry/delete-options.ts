import { badRequest } from '../api/api-errors.ts'
import { conform } from '../api/schema/conform.ts'
import { deleteOptionsSchema } from '../api/schema/shared.ts'
import { isJsonObject, memberOf, numberMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { VerbRequest } from './answer.ts'
import { readBody } from './decode.ts'
import { isDryRun, readBoolean, readDryRun, readInteger, readText, unsupported } from './options.ts'

export type DeleteOptions = {
  readonly dryRun: boolean
  /** Time to end in good order; null: as the object itself says. */
  readonly gracePeriodSeconds: number | null
  /** null: any. */
  readonly uid: string | null
  /** null: any. */
  readonly resourceVersion: string | null
}

/**
 * Options of a deletion, from the body where there is one, else from the query; a dry run may be asked for in
 * either, because deleting by mistake is worse. Propagation is checked and changes nothing: upstream holds the object by the finalizer
 * `foregroundDeletion` or `orphan` until its garbage collector is through with the dependents. Here nothing
 * collects dependents: none is waited for, all are left, and a finalizer nobody removes would hold for ever.
 *
 * @throws ApiError `BadRequest`
 */
export function readDeleteOptions(request: VerbRequest): DeleteOptions {
  const { query } = request
  const dryRun = readDryRun(query)
  if (request.body.length > 0) {
    const read = fromBody(request)
    return { ...read, dryRun: dryRun || read.dryRun }
  }
  const gracePeriodSeconds = readInteger(query, 'gracePeriodSeconds')
  const policy = readText(query, 'propagationPolicy')
  checkPropagation(policy, query.has('orphanDependents') ? readBoolean(query, 'orphanDependents') : null)
  return { dryRun, gracePeriodSeconds, uid: null, resourceVersion: null }
}

function fromBody(request: VerbRequest): DeleteOptions {
  const { value: sent, fractions } = readBody(request, { schema: deleteOptionsSchema, validation: 'Ignore' })
  const kind = textMember(sent, 'kind')
  if (kind !== '' && kind !== 'DeleteOptions') {
    throw badRequest(`${kind.slice(0, 256)} cannot be handled as DeleteOptions`)
  }
  return deleteOptionsOf(
    conform(deleteOptionsSchema, { apiVersion: 'v1', ...sent, kind: 'DeleteOptions' }, fractions).value,
  )
}

/** @param value of the shape `DeleteOptions` @throws ApiError `BadRequest` */
export function deleteOptionsOf(value: JsonObject): DeleteOptions {
  const orphan = memberOf(value, 'orphanDependents')
  checkPropagation(textMember(value, 'propagationPolicy'), typeof orphan === 'boolean' ? orphan : null)
  const preconditions = memberOf(value, 'preconditions')
  const wanted: JsonObject = isJsonObject(preconditions) ? preconditions : {}
  const dryRun = memberOf(value, 'dryRun')
  const values = Array.isArray(dryRun) ? dryRun.map(String) : []
  return {
    dryRun: values.map(isDryRun).includes(true),
    gracePeriodSeconds: numberMember(value, 'gracePeriodSeconds'),
    uid: textMember(wanted, 'uid') || null,
    resourceVersion: textMember(wanted, 'resourceVersion') || null,
  }
}

function checkPropagation(policy: string, orphan: boolean | null): void {
  const supported = ['Orphan', 'Background', 'Foreground']
  if (policy !== '' && !supported.includes(policy)) throw unsupported('propagationPolicy', policy, supported)
  if (policy === '' || orphan === null) return
  throw badRequest(
    'propagationPolicy: Invalid value: orphanDependents and deletionPropagation cannot be both set',
  )
}
