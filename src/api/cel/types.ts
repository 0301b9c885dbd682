/**
 * Types of expressions and of declared variables. Two types are the same whatever their sizes;
 * sizes only serve the cost estimate. A recursive type is an object whose `fieldOf` returns types
 * that contain it.
 *
 * @source github.com/google/cel-spec/blob/master/doc/langdef.md
 */
export type CelType =
  | { readonly kind: SimpleKind }
  | CelDynType
  | CelTextType
  | CelListType
  | CelMapType
  | CelObjectType
  | { readonly kind: 'optional'; readonly of: CelType }
  /** A type of the libraries that has only functions, such as `kubernetes.Quantity`. */
  | { readonly kind: 'opaque'; readonly name: string }
  /** A type variable of a function; the types of declared variables contain no type variable. */
  | { readonly kind: 'param'; readonly name: string }

type SimpleKind = 'bool' | 'int' | 'uint' | 'double' | 'null' | 'duration' | 'timestamp' | 'type'

export type CelDynType = {
  readonly kind: 'dyn'
  /** Maximum size of a text, list or map; absent if unknown. */
  readonly maxSize?: number
}

export type CelTextType = {
  readonly kind: 'string' | 'bytes'
  /** Maximum number of characters (string) or bytes; absent if unknown. */
  readonly maxSize?: number
}

export type CelListType = {
  readonly kind: 'list'
  readonly element: CelType
  /** Maximum number of elements; absent if unknown. */
  readonly maxSize?: number
  /** How `==` and `+` identify elements; absent: by position. */
  readonly identity?: ListIdentity
}

export type CelMapType = {
  readonly kind: 'map'
  readonly key: CelType
  readonly value: CelType
  /** Maximum number of entries; absent if unknown. */
  readonly maxSize?: number
}

export type CelObjectType = {
  readonly kind: 'object'
  /** Unique among the objects of an environment; errors show it. */
  readonly name: string
  /** Returns the field with this name in expressions (see `celFieldName`), if there is one. */
  readonly fieldOf: (celName: string) => CelField | undefined
}

export type CelField = {
  /** The name of the JSON member. */
  readonly member: string
  readonly type: CelType
}

/**
 * `set`: equal if both have the same elements in any order; `+` is the union, in the order of the
 * left list followed by what only the right one has. `keys`: the same, with elements identified by
 * the values of these JSON members; `+` replaces an element of the left list by the one of the
 * right list with its keys.
 */
export type ListIdentity = 'set' | { readonly keys: readonly string[] }

export const celBool: CelType = { kind: 'bool' }
export const celInt: CelType = { kind: 'int' }
export const celUint: CelType = { kind: 'uint' }
export const celDouble: CelType = { kind: 'double' }
export const celString: CelType = { kind: 'string' }
export const celBytes: CelType = { kind: 'bytes' }
export const celNull: CelType = { kind: 'null' }
export const celDuration: CelType = { kind: 'duration' }
export const celTimestamp: CelType = { kind: 'timestamp' }
/**
 * Any value, with its type checked when it is used. A JSON value seen as `dyn` (int-or-string,
 * fields that the schema does not know) is a map, list, string, bool, null, int if it is an
 * integer, or double.
 */
export const celDyn: CelType = { kind: 'dyn' }
export const celTypeType: CelType = { kind: 'type' }

export function celList(element: CelType): CelListType {
  return { kind: 'list', element }
}

export function celMap(key: CelType, value: CelType): CelMapType {
  return { kind: 'map', key, value }
}

export function celOptional(of: CelType): CelType {
  return { kind: 'optional', of }
}

/** Returns a type with a fixed set of fields, by their names in expressions. */
export function celObject(name: string, fields: ReadonlyMap<string, CelField>): CelObjectType {
  return { kind: 'object', name, fieldOf: (celName) => fields.get(celName) }
}
