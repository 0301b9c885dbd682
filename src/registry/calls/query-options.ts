import { badRequest } from '../../api/errors/standard-errors.ts'
import { fieldForbidden, notSupported, required } from '../../api/errors/field-error.ts'
import { requireValid } from '../../api/errors/findings.ts'
import type { Check, Findings } from '../../api/errors/findings.ts'
import { goTexts } from '../../api/errors/go-values.ts'
import type { ApiDomain } from '../../api/metadata/names.ts'
import { validateFieldManager } from '../../api/metadata/object-meta.ts'
import { revision } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'
import type { IncludeObject } from '../representations/table.ts'

export type Query = ReadonlyMap<string, readonly string[]>

/** How new the result of a read must be. @source spec 4.8 */
export type WantedRevision =
  | { readonly kind: 'most-recent' }
  | { readonly kind: 'any' }
  | { readonly kind: 'not-older-than'; readonly revision: Revision }
  | { readonly kind: 'exact'; readonly revision: Revision }

export type ListOptions = {
  readonly wanted: WantedRevision
  /** null: all. */
  readonly limit: number | null
  /** null: from the start. */
  readonly continueToken: string | null
  readonly labelSelector: string
  readonly fieldSelector: string
}

export type WatchOptions = {
  /** `exact` here means: events after that revision, without the state at it. */
  readonly start: WantedRevision
  /** Whether the existing objects are sent first. */
  readonly initialEvents: boolean
  readonly labelSelector: string
  readonly fieldSelector: string
  readonly bookmarks: boolean
  /** Whether an annotated bookmark ends the initial events. */
  readonly initialEventsEnd: boolean
  /** null: the server chooses. */
  readonly timeoutMs: number | null
}

export type WriteOptions = {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
}

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

/** Features that an operator may disable. @source spec 9.7 */
export type RegistrySwitches = {
  /** Paging. Off: `limit` and `continue` are ignored. */
  readonly listChunking: boolean
  /** Pages state how many objects follow. */
  readonly remainingItemCount: boolean
  /** Off: `fieldValidation` is ignored, and unknown or duplicate fields are dropped silently. */
  readonly fieldValidation: boolean
}

export const allSwitchesOn: RegistrySwitches = Object.freeze({
  listChunking: true,
  remainingItemCount: true,
  fieldValidation: true,
})

/** Returns the request in which the disabled query parameters are absent or have no effect. */
export function applySwitches<Request extends { readonly query: Query }>(
  request: Request,
  switches: RegistrySwitches,
): Request {
  const { listChunking, fieldValidation } = switches
  if (listChunking && fieldValidation) return request
  const query = new Map(request.query)
  if (!listChunking) {
    query.delete('limit')
    query.delete('continue')
  }
  if (!fieldValidation) query.set('fieldValidation', ['Ignore'])
  return { ...request, query }
}

/** @throws ApiError `BadRequest` */
export function readGetOptions(query: Query): WantedRevision {
  const wanted = readRevision(query)
  if (wanted === null) return { kind: 'most-recent' }
  return wanted === 0 ? { kind: 'any' } : { kind: 'not-older-than', revision: wanted }
}

/**
 * @throws ApiError `BadRequest` for parameters that cannot be parsed, even unused ones, and for
 * combinations that spec 4.8 calls invalid
 * @source spec 4.8.3
 */
export function readListOptions(query: Query): ListOptions {
  // A negative limit means no limit, as upstream.
  const limit = readInteger(query, 'limit') ?? 0
  readInteger(query, 'timeoutSeconds')
  const continueToken = readText(query, 'continue')
  if (query.has('sendInitialEvents')) {
    throw badRequest('sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list')
  }
  return {
    wanted: readListRevision(query, limit > 0, continueToken !== ''),
    limit: limit > 0 ? limit : null,
    continueToken: continueToken === '' ? null : continueToken,
    labelSelector: readText(query, 'labelSelector'),
    fieldSelector: readText(query, 'fieldSelector'),
  }
}

function readListRevision(query: Query, limited: boolean, continued: boolean): WantedRevision {
  const wanted = readRevision(query)
  const match = readMatch(query)
  if (match !== null) {
    if (continued) throw forbiddenMatch('resourceVersionMatch is forbidden when continue is provided')
    if (wanted === null) {
      throw forbiddenMatch('resourceVersionMatch is forbidden unless resourceVersion is provided')
    }
    if (match === 'Exact') {
      if (wanted === 0)
        throw forbiddenMatch('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"')
      return { kind: 'exact', revision: wanted }
    }
  }
  if (wanted === null) return { kind: 'most-recent' }
  if (wanted === 0) return { kind: 'any' }
  if (continued) {
    throw badRequest(
      'resourceVersion: Forbidden: specifying resource version is not allowed when using continue',
    )
  }
  if (limited && match === null) return { kind: 'exact', revision: wanted }
  return { kind: 'not-older-than', revision: wanted }
}

/** @source spec 4.8.4; `sendInitialEvents` as upstream */
export function readWatchOptions(query: Query): WatchOptions {
  const wanted = readRevision(query)
  const match = readMatch(query)
  const initial = query.has('sendInitialEvents') ? readBoolean(query, 'sendInitialEvents') : null
  if (readText(query, 'continue') !== '')
    throw badRequest('continue: Forbidden: continue is forbidden for watch')
  if (initial === null) {
    if (match !== null) throw forbiddenMatch('resourceVersionMatch is forbidden for watch')
  } else if (match !== 'NotOlderThan') {
    throw forbiddenMatch(
      'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, ' +
        'and resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    )
  }
  readInteger(query, 'limit')
  const seconds = readInteger(query, 'timeoutSeconds') ?? 0
  const bookmarks = readBoolean(query, 'allowWatchBookmarks')
  const start = watchStart(wanted, initial)
  return {
    start,
    initialEvents: initial ?? start.kind !== 'exact',
    labelSelector: readText(query, 'labelSelector'),
    fieldSelector: readText(query, 'fieldSelector'),
    bookmarks,
    initialEventsEnd: initial === true && bookmarks,
    timeoutMs: seconds > 0 ? Math.min(seconds, secondsMax) * 1000 : null,
  }
}

/** A day: longer watches have no use, and timers count in 32 bits. */
const secondsMax = 24 * 60 * 60

function watchStart(wanted: Revision | null, initial: boolean | null): WantedRevision {
  if (wanted === null) return { kind: 'most-recent' }
  if (wanted === 0) return { kind: 'any' }
  return initial === true ? { kind: 'not-older-than', revision: wanted } : { kind: 'exact', revision: wanted }
}

/**
 * Whether an object names no version: then a write replaces any version. @source apiserver,
 * ObjectResourceVersion
 */
export function isUnversioned(resourceVersion: string | undefined): boolean {
  return resourceVersion === undefined || resourceVersion === '' || resourceVersion === '0'
}

/** The kind of the options of a write, as errors name it. */
export type WriteOptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'

/** @throws ApiError `Invalid` @source apimachinery `pkg/apis/meta/v1/validation/validation.go` */
export function readWriteOptions(
  query: Query,
  kind: WriteOptionsKind,
  domain: ApiDomain,
  checkMore: Check = () => undefined,
): WriteOptions {
  const fieldManager = readText(query, 'fieldManager')
  const fieldValidation = readText(query, 'fieldValidation')
  const dryRun = readTexts(query, 'dryRun')
  requireValid({ group: `meta.${domain}`, kind }, '', (found) => {
    checkMore(found)
    validateFieldManager(fieldManager, 'fieldManager', found)
    checkDryRun(dryRun, found)
    if (fieldValidation !== '' && !isFieldValidation(fieldValidation)) {
      found.add(notSupported('fieldValidation', fieldValidation, ['', ...FIELD_VALIDATIONS]))
    }
  })
  return {
    dryRun: isDryRun(dryRun),
    fieldManager,
    fieldValidation: isFieldValidation(fieldValidation) ? fieldValidation : 'Warn',
  }
}

export type ApplyOptions = WriteOptions & {
  /** Whether to take fields from other managers instead of failing. */
  readonly force: boolean
}

/**
 * @throws ApiError `Invalid`, for example if the field manager is missing @source spec 4.2, 4.10
 */
export function readApplyOptions(query: Query, domain: ApiDomain): ApplyOptions {
  const options = readWriteOptions(query, 'PatchOptions', domain, (found) => {
    if (readText(query, 'fieldManager') !== '') return
    found.add(required('fieldManager', 'is required for apply patch'))
  })
  return { ...options, force: readBoolean(query, 'force') }
}

/**
 * Reads the options of a patch that is not an apply.
 *
 * @throws ApiError `Invalid`, for example if `force` is set
 */
export function readPatchOptions(query: Query, domain: ApiDomain): WriteOptions {
  return readWriteOptions(query, 'PatchOptions', domain, (found) => {
    if (query.has('force')) found.add(fieldForbidden('force', 'may not be specified for non-apply patch'))
  })
}

/** Checks that values of `dryRun` are `All` or empty. @source spec 4.2 */
export function checkDryRun(values: readonly string[], found: Findings): void {
  if (values.every((value) => value === '' || value === 'All')) return
  found.add({ ...notSupported('dryRun', undefined, ['All']), value: { of: values, format: goTexts } })
}

/** @param values that passed `checkDryRun` */
export function isDryRun(values: readonly string[]): boolean {
  return values.includes('All')
}

/** Reads how much of its object each row of a table carries. @throws ApiError `BadRequest` */
export function readIncludeObject(query: Query): IncludeObject {
  const value = readText(query, 'includeObject')
  switch (value) {
    case '':
      return 'Metadata'
    case 'None':
    case 'Metadata':
    case 'Object':
      return value
    default:
      throw unsupported('includeObject', value, ['None', 'Metadata', 'Object'])
  }
}

/** Sorted as upstream's messages show them. */
const FIELD_VALIDATIONS = ['Ignore', 'Strict', 'Warn'] as const

function isFieldValidation(value: string): value is FieldValidation {
  return FIELD_VALIDATIONS.some((known) => known === value)
}

function readMatch(query: Query): 'Exact' | 'NotOlderThan' | null {
  const value = readText(query, 'resourceVersionMatch')
  if (value === '') return null
  if (value === 'Exact' || value === 'NotOlderThan') return value
  throw unsupported('resourceVersionMatch', value, ['Exact', 'NotOlderThan'])
}

/** null: unset. */
function readRevision(query: Query): Revision | null {
  const value = readText(query, 'resourceVersion')
  if (value === '') return null
  const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : NaN
  if (!Number.isSafeInteger(number))
    throw malformed('resourceVersion', value, 'must be a decimal number up to 2^53-1, as in responses')
  return revision(number)
}

/**
 * Reads a whole number of 64 bits; one beyond 2^53 is clamped. null: absent. An empty text is an
 * error, as upstream.
 *
 * @throws ApiError `BadRequest`
 */
export function readInteger(query: Query, name: string): number | null {
  const value = query.get(name)?.[0]
  if (value === undefined) return null
  const number = /^[+-]?[0-9]{1,32}$/.test(value) ? BigInt(value.replace('+', '')) : null
  if (number === null || BigInt.asIntN(64, number) !== number) {
    throw malformed(name, value, 'must be a whole number')
  }
  const most = Number.MAX_SAFE_INTEGER
  return Math.min(Math.max(Number(number), -most), most)
}

/** Reads a boolean by upstream's rule: absent, `false` and `0` are false, all else is true. */
export function readBoolean(query: Query, name: string): boolean {
  const value = query.get(name)?.[0]?.toLowerCase()
  return value !== undefined && value !== 'false' && value !== '0'
}

/** Returns the first value of a parameter; empty when it is absent. */
export function readText(query: Query, name: string): string {
  return query.get(name)?.[0] ?? ''
}

/** Returns all values of a parameter. */
export function readTexts(query: Query, name: string): readonly string[] {
  return query.get(name) ?? []
}

/** @param rule what the value violates or must be; truncated when long */
export function malformed(name: string, value: string, rule: string): Error {
  const why = rule.length > 1024 ? `${rule.slice(0, 1024)}...` : rule
  return badRequest(`${name}: Invalid value: ${shown(value)}: ${why}`)
}

function unsupported(name: string, value: string, supported: readonly string[]): Error {
  const list = supported.map((text) => JSON.stringify(text)).join(', ')
  return badRequest(`${name}: Unsupported value: ${shown(value)}: supported values: ${list}`)
}

function forbiddenMatch(rule: string): Error {
  return badRequest(`resourceVersionMatch: Forbidden: ${rule}`)
}

function shown(value: string): string {
  return JSON.stringify(value.length > 256 ? `${value.slice(0, 256)}...` : value)
}
