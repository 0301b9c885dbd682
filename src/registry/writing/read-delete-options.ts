import { invalid, invalidObject } from '../../api/errors/field-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { conform, unknownFieldWords } from '../../api/schema/conform.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { deleteOptionsSchema } from '../../api/schema/shared.ts'
import { isJsonObject, memberOf, numberMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { VerbRequest } from '../calls/verb.ts'
import { readBody } from './decode.ts'
import { IGNORE_READ_ERRORS, PROPAGATIONS } from '../calls/delete-options.ts'
import type { DeleteOptions, Propagation } from '../calls/delete-options.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import {
  isDryRun,
  readBoolean,
  readDryRun,
  readInteger,
  readText,
  unsupported,
} from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'

/**
 * Reads the options of a deletion from the body if there is one, else from the query. If either
 * requests a dry run, it is one, so that nothing is deleted by mistake.
 *
 * @throws ApiError `BadRequest`
 */
export function readDeleteOptions(
  { names }: Pick<VerbDependencies, 'names'>,
  request: VerbRequest,
): DeleteOptions {
  const { query } = request
  const dryRun = readDryRun(query)
  if (request.body.length > 0) {
    const read = fromBody(names, request)
    for (const name of OPTIONS) {
      if (query.has(name)) request.context.warn(ignoredWords(name))
    }
    return { ...read, dryRun: dryRun || read.dryRun }
  }
  const gracePeriodSeconds = readInteger(query, 'gracePeriodSeconds')
  const propagationPolicy = propagationOf(
    readText(query, 'propagationPolicy'),
    query.has('orphanDependents') ? readBoolean(query, 'orphanDependents') : null,
  )
  const ignoresReadErrors = readBoolean(query, IGNORE_READ_ERRORS)
  const read = {
    ...{ dryRun, gracePeriodSeconds, uid: null, resourceVersion: null, propagationPolicy },
    ignoresReadErrors,
  }
  if (ignoresReadErrors) checkAlone(names, read, query.has('orphanDependents'))
  return read
}

/** Has an option of later versions that published schemas of this version lack. */
const readSchema: ObjectSchema = {
  ...deleteOptionsSchema,
  properties: {
    ...deleteOptionsSchema.properties,
    [IGNORE_READ_ERRORS]: { type: 'boolean', zeroMatters: true },
  },
  protobuf: { ...deleteOptionsSchema.protobuf, [IGNORE_READ_ERRORS]: 6 },
}

/** Options that a body replaces. */
const OPTIONS = ['gracePeriodSeconds', 'orphanDependents', 'propagationPolicy', IGNORE_READ_ERRORS] as const

function ignoredWords(name: string): string {
  return `the query parameter ${name} is ignored, because the request has a body: send it there`
}

/** Warns of unknown options, because a misspelled precondition protects nothing. */
function fromBody(names: Names, request: VerbRequest): DeleteOptions {
  const { value: sent, fractions } = readBody(request, { schema: readSchema })
  checkKind(names, request.definition, sent)
  const typed = { ...sent, apiVersion: 'v1', kind: 'DeleteOptions' }
  const { value, unknown } = conform(readSchema, typed, fractions)
  for (const path of unknown) request.context.warn(unknownFieldWords(path))
  const options = deleteOptionsOf(value)
  if (options.ignoresReadErrors) {
    const dryRun = options.dryRun || readDryRun(request.query)
    checkAlone(names, { ...options, dryRun }, memberOf(value, 'orphanDependents') !== undefined)
  }
  return options
}

/**
 * Refuses options that a removal without reading the object cannot obey.
 *
 * @throws ApiError `Invalid`
 * @source apimachinery `pkg/apis/meta/v1/validation/validation.go`
 */
function checkAlone(names: Names, options: DeleteOptions, orphans: boolean): void {
  const { dryRun, gracePeriodSeconds, uid, resourceVersion, propagationPolicy } = options
  const given = {
    dryRun,
    propagationPolicy: propagationPolicy !== null && !orphans,
    orphanDependents: orphans,
    gracePeriodSeconds: gracePeriodSeconds !== null,
    preconditions: uid !== null || resourceVersion !== null,
  }
  const found = Object.entries(given).flatMap(([name, isGiven]) =>
    isGiven ? [invalid(IGNORE_READ_ERRORS, true, `cannot be set together with .${name}`)] : [],
  )
  if (found.length === 0) return
  throw invalidObject({ group: names.group('meta'), kind: 'DeleteOptions' }, '', found)
}

/**
 * DeleteOptions have their own version. Older clients send that of the resource.
 *
 * @throws ApiError `BadRequest`
 * @source apiserver `pkg/endpoints/handlers/delete.go`
 */
function checkKind(names: Names, definition: ResourceDefinition, sent: JsonObject): void {
  const kind = textMember(sent, 'kind')
  if (kind !== '' && kind !== 'DeleteOptions') {
    throw badRequest(`${shown(kind)} cannot be handled as DeleteOptions`)
  }
  const apiVersion = textMember(sent, 'apiVersion')
  const groups = new Set([names.group('meta'), names.clientGroup('meta')])
  const known = ['v1', ...[...groups].map((group) => `${group}/v1`), apiVersionOf(definition)]
  if (apiVersion === '' || known.includes(apiVersion)) return
  throw badRequest(
    `no kind "DeleteOptions" is registered for version ${shown(apiVersion)}: use ${known.slice(0, -1).join(' or ')}`,
  )
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 256))
}

/** @param value of the shape `DeleteOptions` @throws ApiError `BadRequest` */
export function deleteOptionsOf(value: JsonObject): DeleteOptions {
  const orphan = memberOf(value, 'orphanDependents')
  const propagationPolicy = propagationOf(
    textMember(value, 'propagationPolicy'),
    typeof orphan === 'boolean' ? orphan : null,
  )
  const preconditions = memberOf(value, 'preconditions')
  const wanted: JsonObject = isJsonObject(preconditions) ? preconditions : {}
  const dryRun = memberOf(value, 'dryRun')
  const values = Array.isArray(dryRun) ? dryRun.map(String) : []
  return {
    dryRun: values.map(isDryRun).includes(true),
    gracePeriodSeconds: numberMember(value, 'gracePeriodSeconds'),
    uid: preconditionOf(wanted, 'uid'),
    resourceVersion: preconditionOf(wanted, 'resourceVersion'),
    propagationPolicy,
    ignoresReadErrors: memberOf(value, IGNORE_READ_ERRORS) === true,
  }
}

/** An empty text is a precondition too, as upstream: the client may have lost its value. */
function preconditionOf(wanted: JsonObject, name: string): string | null {
  const value = memberOf(wanted, name)
  return typeof value === 'string' ? value : null
}

/** @param orphan the deprecated parameter; null: absent @throws ApiError `BadRequest` */
function propagationOf(policy: string, orphan: boolean | null): Propagation | null {
  const known = PROPAGATIONS.find((name) => name === policy)
  if (policy !== '' && known === undefined) throw unsupported('propagationPolicy', policy, PROPAGATIONS)
  if (known === undefined) return orphan === null ? null : orphan ? 'Orphan' : 'Background'
  if (orphan === null) return known
  throw badRequest(
    'propagationPolicy: Invalid value: orphanDependents and deletionPropagation cannot be both set',
  )
}
