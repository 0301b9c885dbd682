import { Buffer } from 'node:buffer'
import type { Json, JsonObject } from '../../json.ts'
import { isJsonList, isJsonObject, memberOf } from '../../json.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { celFieldName } from '../field-names.ts'
import type { CelListType, CelMapType, CelObjectType, CelType, ListIdentity } from '../types.ts'
import { celDyn, celList, celMap, celString } from '../types.ts'
import { durationSteps, parseDurationOfFormat } from './duration.ts'
import { parseTimestamp } from './timestamp.ts'
import type { CelValue } from './value.ts'
import { CelFailure, CelList, CelMap, CelOptional, CelUint } from './value.ts'

/**
 * Returns a JSON value as a value of its declared type: lists and objects as views whose parts are
 * converted when they are read. `null` is null whatever the type.
 */
export function fromJson(json: Json, type: CelType, evaluation: Evaluation): CelValue | CelFailure {
  if (json === null) return null
  switch (type.kind) {
    case 'bool':
      return typeof json === 'boolean' ? json : mismatch(type)
    case 'string':
      return typeof json === 'string' ? json : mismatch(type)
    case 'int':
      return intFrom(json) ?? mismatch(type)
    case 'uint':
      return uintFrom(json) ?? mismatch(type)
    case 'double':
      return typeof json === 'number' || typeof json === 'bigint' ? Number(json) : mismatch(type)
    case 'bytes':
      if (typeof json !== 'string') return mismatch(type)
      evaluation.step(json.length / DECODED_AT_ONCE)
      return new Uint8Array(Buffer.from(json, 'base64'))
    case 'duration':
      if (typeof json !== 'string') return mismatch(type)
      evaluation.step(durationSteps(json))
      return parseDurationOfFormat(json)
    case 'timestamp':
      if (typeof json !== 'string') return mismatch(type)
      evaluation.step(TIME_STEPS)
      return parseTimestamp(json)
    case 'list':
      return isJsonList(json) ? new JsonList(json, type, evaluation) : mismatch(type)
    case 'map':
      return isJsonObject(json) ? new JsonMap(json, type, evaluation) : mismatch(type)
    case 'object':
      return isJsonObject(json) ? new JsonFields(json, type, evaluation) : mismatch(type)
    case 'optional': {
      const value = fromJson(json, type.of, evaluation)
      return value instanceof CelFailure ? value : new CelOptional(value)
    }
    case 'dyn':
    case 'param':
      return dynamicFrom(json, evaluation)
    case 'null':
    case 'type':
    case 'opaque':
      return mismatch(type)
  }
}

/** Base64 characters that are decoded in one step. */
const DECODED_AT_ONCE = 64
/** Steps to parse a time. */
const TIME_STEPS = 40
/** Steps to check whether a member is a field. */
const FIELD_STEPS = 20

const DYNAMIC_LIST = celList(celDyn)
const DYNAMIC_MAP = celMap(celString, celDyn)

function dynamicFrom(json: Json, evaluation: Evaluation): CelValue {
  if (isJsonList(json)) return new JsonList(json, DYNAMIC_LIST, evaluation)
  if (isJsonObject(json)) return new JsonMap(json, DYNAMIC_MAP, evaluation)
  if (typeof json === 'number' || typeof json === 'bigint') return intFrom(json) ?? Number(json)
  return json
}

function intFrom(json: Json): bigint | undefined {
  const value = typeof json === 'number' && Number.isInteger(json) ? BigInt(json) : json
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value ? value : undefined
}

function uintFrom(json: Json): CelUint | undefined {
  const value = typeof json === 'number' && Number.isInteger(json) ? BigInt(json) : json
  return typeof value === 'bigint' && BigInt.asUintN(64, value) === value ? new CelUint(value) : undefined
}

function mismatch(type: CelType): CelFailure {
  return new CelFailure(`invalid data, expected a value of type ${type.kind}`)
}

class JsonList extends CelList {
  readonly #items: readonly Json[]
  readonly #type: CelListType
  readonly #evaluation: Evaluation

  constructor(items: readonly Json[], type: CelListType, evaluation: Evaluation) {
    super()
    this.#items = items
    this.#type = type
    this.#evaluation = evaluation
  }

  get size(): number {
    return this.#items.length
  }

  get identity(): ListIdentity | undefined {
    return this.#type.identity
  }

  at(index: number): CelValue | CelFailure {
    return fromJson(this.#items[index] ?? null, this.#type.element, this.#evaluation)
  }
}

class JsonMap extends CelMap {
  readonly typeName = undefined
  readonly #object: JsonObject
  readonly #type: CelMapType
  readonly #evaluation: Evaluation

  constructor(object: JsonObject, type: CelMapType, evaluation: Evaluation) {
    super()
    this.#object = object
    this.#type = type
    this.#evaluation = evaluation
  }

  get size(): number {
    return this.#evaluation.keysOf(this.#object).length
  }

  get(key: CelValue): CelValue | CelFailure | undefined {
    const json = typeof key === 'string' ? memberOf(this.#object, key) : undefined
    return json === undefined ? undefined : fromJson(json, this.#type.value, this.#evaluation)
  }

  has(key: CelValue): boolean {
    return typeof key === 'string' && Object.hasOwn(this.#object, key)
  }

  getMember(member: string): CelValue | CelFailure | undefined {
    return this.get(member)
  }

  keys(): Iterable<CelValue> {
    return this.#evaluation.keysOf(this.#object)
  }
}

/** An object whose members are fields. Other members are not visible. */
class JsonFields extends CelMap {
  readonly #object: JsonObject
  readonly #type: CelObjectType
  readonly #evaluation: Evaluation
  #known: readonly string[] | null = null

  constructor(object: JsonObject, type: CelObjectType, evaluation: Evaluation) {
    super()
    this.#object = object
    this.#type = type
    this.#evaluation = evaluation
  }

  get typeName(): string {
    return this.#type.name
  }

  get size(): number {
    return this.#names().length
  }

  get(key: CelValue): CelValue | CelFailure | undefined {
    const field = typeof key === 'string' ? this.#type.fieldOf(key) : undefined
    const json = field === undefined ? undefined : memberOf(this.#object, field.member)
    return field === undefined || json === undefined
      ? undefined
      : fromJson(json, field.type, this.#evaluation)
  }

  has(key: CelValue): boolean {
    const field = typeof key === 'string' ? this.#type.fieldOf(key) : undefined
    return field !== undefined && Object.hasOwn(this.#object, field.member)
  }

  getMember(member: string): CelValue | CelFailure | undefined {
    const name = celFieldName(member)
    return name === undefined ? undefined : this.get(name)
  }

  keys(): Iterable<CelValue> {
    return this.#names()
  }

  #names(): readonly string[] {
    this.#known ??= this.#fields()
    return this.#known
  }

  #fields(): readonly string[] {
    const members = this.#evaluation.keysOf(this.#object)
    this.#evaluation.step(members.length * FIELD_STEPS)
    return members.flatMap((member) => {
      const name = celFieldName(member)
      return name !== undefined && this.#type.fieldOf(name)?.member === member ? [name] : []
    })
  }
}
