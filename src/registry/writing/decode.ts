import { isUtf8 } from 'node:buffer'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { duplicateFields, duplicateFieldWords } from '../../api/codec/json-strict.ts'
import type { Encoding } from '../../api/codec/document.ts'
import { NO_FRACTIONS } from '../../api/codec/json-exact.ts'
import type { Fractions } from '../../api/codec/json-exact.ts'
import { parseSpelledObject } from '../../api/codec/json.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { decodeProtobuf } from '../../api/codec/protobuf.ts'
import {
  checkJsonValues,
  commasOf,
  jsonShape,
  jsonValues,
  tooManyValues,
} from '../../api/codec/value-count.ts'
import { parseYamlObject } from '../../api/codec/yaml.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { conform, strictDecodingError, unknownFieldWords } from '../../api/schema/conform.ts'
import type { Conformed } from '../../api/schema/conform.ts'
import { applyDefaults } from '../../api/schema/default.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { bodyFormatOf } from '../../api/media-type.ts'
import type { VerbRequest, WriteRequest } from '../calls/verb.ts'
import { apiVersionOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition, ResourceHooks } from '../kinds/definition.ts'
import type { FieldValidation } from '../calls/query-options.ts'
import { hasProtobuf } from '../representations/representation.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import type { Target } from '../calls/request.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { bodyLimits } from '../../api/limits.ts'
import { keyOfTarget } from '../calls/request.ts'
import { fromStore } from '../shared/store-error-mapping.ts'
import type { StoredObject } from '../../store/object-store.ts'

/** The kind of a decoded object. */
export type DecodedKind = Pick<ResourceDefinition, 'group' | 'version' | 'kind' | 'schema' | 'structural'> & {
  readonly hooks?: Pick<ResourceHooks, 'fillDefaults' | 'mergeWriteOnly'>
  /** Other versions with the same shape, which a body may name too. */
  readonly otherVersions?: readonly string[]
}

export type DecodeOptions = {
  /** Unset: the kind of the path. */
  readonly kind?: DecodedKind
  /** Maximum number of values in the body. Unset: the general limit. */
  readonly valuesMax?: number
}

/**
 * Decodes the object in a body, with the types of its kind and with defaults.
 *
 * @throws ApiError `UnsupportedMediaType`; `BadRequest` for a malformed object;
 *   `RequestEntityTooLarge` for too many values
 */
export function decodeObject(
  dependencies: VerbDependencies,
  request: VerbRequest,
  validation: FieldValidation,
  { kind = request.definition, valuesMax }: DecodeOptions = {},
): AnyObject | Promise<AnyObject> {
  const schema = dependencies.schemas.of(kind)
  const known = hasProtobuf(kind) ? ALL_FORMATS : TEXT_FORMATS
  const { value, found, fractions } = readBody(request, {
    schema,
    known,
    ...(valuesMax === undefined ? {} : { valuesMax }),
  })
  const shaped = (): AnyObject => {
    const typed = checkType(value, kind)
    const { warn } = request.context
    const doubled = validation === 'Ignore' ? [] : found()
    return shape(dependencies, kind, typed, { validation, found: doubled, fractions, warn })
  }
  // For a long body, yield between parsing and conforming.
  if (request.body.byteLength <= dependencies.limits.writeTurnBytes) return shaped()
  return yieldToEventLoop(dependencies.clock).then(shaped)
}

export type Body = {
  readonly value: JsonObject
  /** Returns warnings about duplicate members. */
  readonly found: () => readonly string[]
  /** For JSON only: the parsers of other formats distinguish `1.0` from `1` themselves. */
  readonly fractions: Fractions
}

export type ReadBodyOptions = {
  /** Schema of the body, needed to decode protobuf. */
  readonly schema: ObjectSchema
  /** Unset: the general limit. */
  readonly valuesMax?: number
  /** Unset: all formats. */
  readonly known?: readonly Encoding[]
}

const ALL_FORMATS = ['json', 'yaml', 'protobuf'] as const
/** Formats of kinds without protobuf. */
const TEXT_FORMATS = ['json', 'yaml'] as const

/** Parses a body in any accepted media type. */
export function readBody(request: VerbRequest, reading: ReadBodyOptions): Body {
  const body = parseBody(request, reading)
  request.context.received?.(body.value)
  return body
}

function parseBody(request: VerbRequest, { schema, valuesMax, known = ALL_FORMATS }: ReadBodyOptions): Body {
  const format = bodyFormatOf(request.contentType, known)
  if (format === 'protobuf') {
    return {
      value: decodeProtobuf(schema, request.body, valuesMax),
      found: () => [],
      fractions: NO_FRACTIONS,
    }
  }
  return parseText(request.body, format, valuesMax)
}

/**
 * Parses an object.
 *
 * @param valuesMax unset: the general limit
 * @throws ApiError `BadRequest`, `RequestEntityTooLarge`
 */
export function parseText(body: Uint8Array, format: 'json' | 'yaml', valuesMax?: number): Body {
  if (format === 'json') checkJsonValues(body, valuesMax)
  const text = bodyText(body)
  if (format === 'yaml') {
    const { value, doubled } = parseYamlObject(text, valuesMax)
    return { value, found: () => doubled, fractions: NO_FRACTIONS }
  }
  const parsed = parseSpelledObject(text)
  // Parsing drops duplicate members, with their commas.
  const isComplete = (): boolean => commasOf(parsed.value) === jsonShape(body).commas
  const found = (): readonly string[] => (isComplete() ? [] : duplicateFields(text).map(duplicateFieldWords))
  return { found, ...parsed }
}

/** @param text well-formed JSON @returns warnings */
export function duplicateFieldWarnings(text: string, validation: FieldValidation): readonly string[] {
  return validation === 'Ignore' ? [] : duplicateFields(text).map(duplicateFieldWords)
}

export function bodyText(body: Uint8Array): string {
  if (!isUtf8(body)) throw badRequest('the body is not valid UTF-8')
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
}

export type ShapeOptions = {
  readonly validation: FieldValidation
  /** Warnings from parsing the body. */
  readonly found: readonly string[]
  /** Fractions of the body, if the object is a whole body. */
  readonly fractions?: Fractions
  /** Unknown members that the stored object has already. Unset: none. */
  readonly keptBefore?: () => readonly string[]
  readonly warn: (text: string) => void
}

/**
 * Conforms an object to its kind, reports duplicate and unknown members, and adds defaults.
 *
 * @param object has kind and apiVersion
 */
export function shape(
  dependencies: VerbDependencies,
  kind: DecodedKind,
  object: JsonObject,
  options: ShapeOptions,
): AnyObject {
  const { structural } = kind
  const schema = dependencies.schemas.of(kind)
  const { value, unknown, kept } = conformed(dependencies, kind, object, options.fractions)
  const findings =
    options.validation === 'Ignore' ? [] : [...options.found, ...unknown.map(unknownFieldWords)]
  if (options.validation === 'Strict') {
    const wrong = [...findings, ...addedIn(kept, options).map(unknownFieldWords)]
    if (wrong.length > 0) throw strictDecodingError(object, wrong)
  }
  for (const warning of findings.slice(0, dependencies.limits.fieldWarningsMax)) options.warn(warning)
  const merged = kind.hooks?.mergeWriteOnly?.(value) ?? value
  const complete = merged['metadata'] === undefined ? { ...merged, metadata: {} } : merged
  const whole = structural?.applyDefaults(complete) ?? applyDefaults(schema, complete)
  // Conforming to a schema with metadata checks the type.
  const typed = whole as AnyObject
  return kind.hooks?.fillDefaults?.(typed) ?? typed
}

/** A patch is not refused because of unknown members that the object had before. */
function addedIn(kept: readonly string[], { keptBefore }: ShapeOptions): readonly string[] {
  if (kept.length === 0 || keptBefore === undefined) return kept
  const before = new Set(keptBefore())
  return kept.filter((path) => !before.has(path))
}

/** Conforms an object to its kind, without defaults. @throws ApiError `BadRequest` */
export function conformed(
  dependencies: VerbDependencies,
  kind: DecodedKind,
  object: JsonObject,
  fractions?: Fractions,
): Conformed {
  return kind.structural?.conform(object) ?? conform(dependencies.schemas.of(kind), object, fractions)
}

/** Returns the object after admission, conformed and with defaults; unknown fields are dropped. */
export function reshapeObject(
  dependencies: VerbDependencies,
  kind: DecodedKind,
  object: AnyObject,
): AnyObject {
  return shape(dependencies, kind, object, { validation: 'Ignore', found: [], warn: () => undefined })
}

/** Absent kind and version default to those of the path, as upstream. */
export function checkType(object: JsonObject, definition: DecodedKind): JsonObject {
  const { group, otherVersions = [] } = definition
  const apiVersion = apiVersionOf(definition)
  const version = object['apiVersion']
  const kind = object['kind']
  const isOther = otherVersions.some((other) => version === apiVersionOf({ group, version: other }))
  if (isSet(version) && version !== apiVersion && !isOther) {
    throw badRequest(
      `the API version in the data (${truncated(version)}) does not match the expected API version (${apiVersion})`,
    )
  }
  if (isSet(kind) && kind !== definition.kind) {
    throw badRequest(
      `${truncated(kind)} in version ${JSON.stringify(definition.version)} cannot be handled as a ` +
        `${definition.kind}: the kind in the data does not match the kind of the resource`,
    )
  }
  if (isSet(version) && isSet(kind)) return object
  return { ...object, kind: definition.kind, apiVersion }
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function truncated(value: Json | undefined): string {
  return typeof value === 'string' ? value.slice(0, 256) : jsonText(value ?? null).slice(0, 256)
}

/** @throws ApiError `BadRequest` in upstream's words when path and body name different objects */
export function checkNames(object: AnyObject, target: Target): void {
  const { name, namespace } = object.metadata
  if (!name) {
    throw badRequest(
      `the name of the object (${target.name} based on URL) was undeterminable: name must be provided`,
    )
  }
  if (name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`)
  }
  if (target.namespace !== null && namespace && namespace !== target.namespace) {
    throw badRequest(
      `the namespace of the object (${namespace}) does not match the namespace on the request (${target.namespace})`,
    )
  }
}

/** @throws ApiError `BadRequest` */
export function checkNamespace(object: AnyObject, target: Target): void {
  const { namespace } = object.metadata
  if (target.namespace === null || !namespace || namespace === target.namespace) return
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
}

/**
 * Reads the body of an update or a patch. A stored object can always be written again: the limit is
 * the number of its values plus a few, because defaults may have raised it above the limit of a
 * create.
 *
 * @param read called with the limit of values; called again if this member lagged behind
 * @throws ApiError
 */
export function withValueLimit<T>(
  dependencies: VerbDependencies,
  request: WriteRequest,
  read: (valuesMax: number) => T | Promise<T>,
): T | Promise<T> {
  const { valuesMax } = bodyLimits
  // A body has at most as many values as bytes.
  return request.body.byteLength <= valuesMax ? read(valuesMax) : readLarge(dependencies, request, read)
}

async function readLarge<T>(
  dependencies: VerbDependencies,
  request: WriteRequest,
  read: (valuesMax: number) => T | Promise<T>,
): Promise<T> {
  const first = valuesAllowed(dependencies, request)
  try {
    return await read(first)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'RequestEntityTooLarge') throw error
    await fromStore(dependencies.store.barrier(request.context.deadlineMs))
    const now = valuesAllowed(dependencies, request)
    if (now <= first) throw error
    return await read(now)
  }
}

function valuesAllowed({ store }: VerbDependencies, { definition, target }: WriteRequest): number {
  const { valuesMax, valuesAddedMax } = bodyLimits
  const stored = store.view().get(keyOfTarget(definition, target))
  return stored === null ? valuesMax : Math.max(valuesMax, jsonValues(stored.bytes) + valuesAddedMax)
}

/**
 * Refuses an object that has too many values including its defaults.
 *
 * @param bytes of the object to be stored
 * @param stored null: the object is new
 * @throws ApiError RequestEntityTooLarge
 */
export function checkValueCount(bytes: Uint8Array, stored: Pick<StoredObject, 'bytes'> | null): void {
  const { storedValuesMax, valuesAddedMax } = bodyLimits
  if (bytes.byteLength <= storedValuesMax) return
  const values = jsonValues(bytes)
  if (values <= storedValuesMax) return
  const before = stored === null ? 0 : jsonValues(stored.bytes) + valuesAddedMax
  if (values > before) throw tooManyValues('object with its defaults', Math.max(storedValuesMax, before))
}
