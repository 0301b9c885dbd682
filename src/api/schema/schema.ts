import type { Findings } from '../errors/findings.ts'
import type { Json, JsonObject } from '../json.ts'
import type { NameRule } from '../metadata/name-rules.ts'
import type { Path } from './path.ts'

/**
 * The shape of a value, said once per kind: validation, defaulting, pruning, strategic merge,
 * OpenAPI, protobuf (and later apply) are derived from it. Plain frozen data and pure functions, so
 * that custom resource definitions can make it at run time. `build.ts` has short words for
 * declaring one.
 */
export type Schema =
  | StringSchema
  | BooleanSchema
  | IntegerSchema
  | NumberSchema
  | ObjectSchema
  | MapSchema
  | ListSchema
  | QuantitySchema
  | IntOrStringSchema
  | AnySchema

type Common = {
  /** In our own words; OpenAPI and explain show it. */
  readonly description?: string
  /**
   * What a struct that has a name of its own is for where it stands; its description is of the
   * shape.
   */
  readonly memberDescription?: string
  /** Filled in where the member is absent. */
  readonly default?: Json
  /**
   * `false`, `0`, empty text and an empty struct differ from absent. Of other members that are no
   * list, map or bytes a protobuf message always says the zero.
   */
  readonly zeroMatters?: true
  /**
   * Said in JSON even where it is the zero of its type, or where nothing was said: `null` of a
   * list, a map, a time, and of what may be unset.
   */
  readonly always?: true
  /** Empty text, lists and maps are as good as absent: `FieldValueRequired`. */
  readonly nonEmpty?: true
}

export type StringSchema = Common & {
  readonly type: 'string'
  readonly format?: 'bytes' | 'date-time' | 'micro-time'
  /** Closed list; another value but the empty one is `FieldValueNotSupported`. */
  readonly enum?: readonly string[]
  /**
   * What it can mean, for OpenAPI to tell, where other values are taken as well, or are no matter
   * of the schema's.
   */
  readonly known?: readonly string[]
  /** What any text but the empty one must follow. */
  readonly rule?: NameRule
  readonly lengthMax?: number
}

export type BooleanSchema = Common & { readonly type: 'boolean' }

export type IntegerSchema = Common & {
  readonly type: 'integer'
  readonly format: 'int32' | 'int64'
  readonly minimum?: number
  readonly maximum?: number
}

export type NumberSchema = Common & { readonly type: 'number' }

/** A struct: named members. */
export type ObjectSchema = Common & {
  readonly type: 'object'
  /**
   * Name in OpenAPI definitions, for shapes that have one: neutral as `core.v1.ConfigMap` or
   * `meta.v1.ObjectMeta`, which `names.definition` spells for the domain. A kind's own shape is
   * named by its group, version and kind.
   */
  readonly definition?: string
  readonly properties: { readonly [name: string]: Schema }
  /** In OpenAPI and in validation: absent is `FieldValueRequired`. */
  readonly required?: readonly string[]
  /** Numbers of the protobuf message, by member. */
  readonly protobuf?: { readonly [name: string]: number }
  /** Members that are this struct's own in JSON and lie in messages of their own in protobuf. */
  readonly inline?: readonly InlinePart[]
  /**
   * What its members must be to each other; called with every such struct, after its members were
   * checked.
   */
  readonly check?: ShapeCheck
  /**
   * Which member means anything where another one says what, for OpenAPI to tell; `check` sees to
   * it.
   */
  readonly unions?: readonly UnionShape[]
  /**
   * What JSON may say instead of the struct, by its JSON type: `true` or a schema. Such a shape has
   * no message, and OpenAPI tells nothing of its members.
   */
  readonly instead?: readonly (BooleanSchema | ListSchema)[]
  /** Server-side apply: replaced as a whole. */
  readonly mapType?: 'atomic'
  /** Strategic merge patch: the struct is taken as it stands, or clients say which members stay. */
  readonly patchStrategy?: 'replace' | 'retainKeys'
}

/** @source structured-merge-diff, and the extension `unions` of upstream's OpenAPI */
export type UnionShape = {
  /** The member that says which one. */
  readonly discriminator: string
  /** By member: what the discriminator says where that one is meant. */
  readonly members: { readonly [name: string]: string }
}

/** Its properties are also among those of the struct it is part of. Always said in protobuf. */
export type InlinePart = { readonly number: number; readonly schema: ObjectSchema }

/**
 * Pure, and bounded by the size of the value.
 *
 * @param value of the schema's types
 * @param at where it stands, for `fieldAt`; null: it is the whole object
 */
export type ShapeCheck = (value: JsonObject, at: Path | null, found: Findings) => void

export type MapSchema = Common & {
  readonly type: 'map'
  readonly values: Schema
  readonly mapType?: 'atomic'
}

export type ListSchema = Common & {
  readonly type: 'list'
  readonly items: Schema
  /** Server-side apply; unset is atomic. */
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  /** Strategic merge patch: elements with equal member are merged, or scalars united. */
  readonly patchMergeKey?: string
  readonly patchStrategy?: 'merge' | 'replace' | 'retainKeys' | 'merge,retainKeys'
  readonly itemsMax?: number
  /**
   * In protobuf it is a message that has the items as field 1; as it always is in a map or a list.
   */
  readonly inMessage?: true
}

/** `500m`, `1Gi`: a string or a number. */
export type QuantitySchema = Common & { readonly type: 'quantity' }
export type IntOrStringSchema = Common & { readonly type: 'int-or-string' }
/** Anything, kept as it came (RawExtension, FieldsV1). */
export type AnySchema = Common & {
  readonly type: 'any'
  /**
   * As of `ObjectSchema`: OpenAPI says of such a shape that it may be of every type; of others that
   * they are structs.
   */
  readonly definition?: string
}
