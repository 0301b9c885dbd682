import { invalid, notSupported } from '../../api/errors/field-error.ts'
import { requireValid } from '../../api/errors/findings.ts'
import type { Findings } from '../../api/errors/findings.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { conform, unknownFieldWords } from '../../api/schema/conform.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { deleteOptionsSchema } from '../../api/schema/shared.ts'
import { isJsonObject, memberOf, numberMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { VerbRequest } from '../calls/verb.ts'
import { readBody } from './decode.ts'
import { IGNORE_READ_ERRORS, PROPAGATIONS } from '../calls/delete-options.ts'
import type { DeleteOptions } from '../calls/delete-options.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import {
  checkDryRun,
  isDryRun,
  readBoolean,
  readInteger,
  readText,
  readTexts,
} from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'

/** Options as a request gives them. */
type GivenOptions = Omit<DeleteOptions, 'dryRun' | 'propagationPolicy'> & {
  readonly dryRun: readonly string[]
  /** null: absent. */
  readonly propagationPolicy: string | null
  /** The deprecated option; null: absent. */
  readonly orphanDependents: boolean | null
}

/**
 * Reads the options of a deletion from the body if there is one, else from the query. If either
 * requests a dry run, it is one, so that nothing is deleted by mistake.
 *
 * @throws ApiError `BadRequest`, `RequestEntityTooLarge`, `UnsupportedMediaType`; `Invalid` for
 *   values that are read but not supported
 */
export function readDeleteOptions(
  { names }: Pick<VerbDependencies, 'names'>,
  request: VerbRequest,
): DeleteOptions {
  const { query } = request
  const dryRun = readTexts(query, 'dryRun')
  if (request.body.length > 0) {
    const read = fromBody(names, request)
    for (const name of OPTIONS) {
      if (query.has(name)) request.context.warn(ignoredWords(name))
    }
    return checkedOptions(names, { ...read, dryRun: [...dryRun, ...read.dryRun] })
  }
  const given = (name: string): boolean => query.has(name)
  return checkedOptions(names, {
    dryRun,
    gracePeriodSeconds: readInteger(query, 'gracePeriodSeconds'),
    uid: null,
    resourceVersion: null,
    propagationPolicy: given('propagationPolicy') ? readText(query, 'propagationPolicy') : null,
    orphanDependents: given('orphanDependents') ? readBoolean(query, 'orphanDependents') : null,
    ignoresReadErrors: readBoolean(query, IGNORE_READ_ERRORS),
  })
}

/**
 * The schema of a body. It has an option of later versions, which the published schemas of this
 * version lack.
 */
const readSchema: ObjectSchema = {
  ...deleteOptionsSchema,
  properties: {
    ...deleteOptionsSchema.properties,
    [IGNORE_READ_ERRORS]: { type: 'boolean', zeroMatters: true },
  },
  protobuf: { ...deleteOptionsSchema.protobuf, [IGNORE_READ_ERRORS]: 6 },
}

/** Query parameters that are ignored if there is a body. */
const OPTIONS = ['gracePeriodSeconds', 'orphanDependents', 'propagationPolicy', IGNORE_READ_ERRORS] as const

function ignoredWords(name: string): string {
  return `the query parameter ${name} is ignored, because the request has a body: send it there`
}

/** Warns of unknown options, because a misspelled precondition protects nothing. */
function fromBody(names: Names, request: VerbRequest): GivenOptions {
  const { value: sent, fractions } = readBody(request, { schema: readSchema })
  checkKind(names, request.definition, sent)
  const typed = { ...sent, apiVersion: 'v1', kind: 'DeleteOptions' }
  const { value, unknown } = conform(readSchema, typed, fractions)
  for (const path of unknown) request.context.warn(unknownFieldWords(path))
  return givenIn(value)
}

/**
 * @throws ApiError `Invalid`
 * @source apimachinery `pkg/apis/meta/v1/validation/validation.go`, ValidateDeleteOptions
 */
function checkedOptions(names: Names, given: GivenOptions): DeleteOptions {
  const { dryRun, propagationPolicy: policy, orphanDependents: orphans, ...rest } = given
  const known = PROPAGATIONS.find((name) => name === policy)
  requireValid({ group: names.group('meta'), kind: 'DeleteOptions' }, '', (found) => {
    if (orphans !== null && policy !== null) {
      const words = 'orphanDependents and deletionPropagation cannot be both set'
      found.add(invalid('propagationPolicy', policy, words))
    }
    if (policy !== null && known === undefined) {
      found.add(notSupported('propagationPolicy', policy, [...PROPAGATIONS, 'nil']))
    }
    checkDryRun(dryRun, found)
    if (given.ignoresReadErrors) checkAlone(given, found)
  })
  const byOrphans = orphans === null ? null : orphans ? 'Orphan' : 'Background'
  return { ...rest, dryRun: isDryRun(dryRun), propagationPolicy: known ?? byOrphans }
}

/** Refuses options that a removal without reading the object cannot obey. */
function checkAlone(options: GivenOptions, found: Findings): void {
  const given = {
    dryRun: isDryRun(options.dryRun),
    propagationPolicy: options.propagationPolicy !== null,
    orphanDependents: options.orphanDependents !== null,
    gracePeriodSeconds: options.gracePeriodSeconds !== null,
    preconditions: options.uid !== null || options.resourceVersion !== null,
  }
  for (const [name, isGiven] of Object.entries(given)) {
    if (isGiven) found.add(invalid(IGNORE_READ_ERRORS, true, `cannot be set together with .${name}`))
  }
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

/** @param value of the shape `DeleteOptions` @throws ApiError `Invalid` */
export function deleteOptionsOf(
  { names }: Pick<VerbDependencies, 'names'>,
  value: JsonObject,
): DeleteOptions {
  return checkedOptions(names, givenIn(value))
}

/** @param value of the shape `DeleteOptions` */
function givenIn(value: JsonObject): GivenOptions {
  const orphans = memberOf(value, 'orphanDependents')
  const preconditions = memberOf(value, 'preconditions')
  const wanted: JsonObject = isJsonObject(preconditions) ? preconditions : {}
  return {
    dryRun: textsMember(value, 'dryRun'),
    gracePeriodSeconds: numberMember(value, 'gracePeriodSeconds'),
    uid: textOrNull(wanted, 'uid'),
    resourceVersion: textOrNull(wanted, 'resourceVersion'),
    propagationPolicy: textOrNull(value, 'propagationPolicy'),
    orphanDependents: typeof orphans === 'boolean' ? orphans : null,
    ignoresReadErrors: memberOf(value, IGNORE_READ_ERRORS) === true,
  }
}

/** Returns a text, also an empty one, as upstream: the client may have lost its value. */
function textOrNull(value: JsonObject, name: string): string | null {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : null
}
