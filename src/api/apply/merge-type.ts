import { isJsonObject } from '../json.ts'
import type { Json } from '../json.ts'
import type { ListSchema, ObjectSchema, Schema } from '../schema/schema.ts'
import { assertNever } from '../../../base/assert.ts'

/**
 * A type as server-side apply uses it: it decides which parts of a value have their own owners.
 *
 * @source spec 4.10; structured-merge-diff `schema/elements.go`
 */
export type MergeType =
  /** Scalars, and atomic lists, maps and structs: owned as a whole. */
  | { readonly kind: 'leaf' }
  | {
      readonly kind: 'struct'
      /** null: the schema does not declare such a member. */
      readonly member: (name: string) => MergeType | null
      /** The type of members that the schema does not declare: those of maps. */
      readonly other: MergeType
    }
  /** A list of scalars without order. */
  | { readonly kind: 'set' }
  /** A list of structs that their key members identify. */
  | { readonly kind: 'keyed'; readonly keys: readonly ListKey[]; readonly items: MergeType }
  /** Depends on the value: objects are maps, all else is a leaf. */
  | { readonly kind: 'deduced' }

export type ListKey = {
  readonly name: string
  /** Value of elements without the member; undefined: they are invalid. */
  readonly default: Json | undefined
}

export const leaf: MergeType = { kind: 'leaf' }
const set: MergeType = { kind: 'set' }
const deduced: MergeType = { kind: 'deduced' }
const deducedMap: MergeType = { kind: 'struct', member: () => null, other: deduced }

const known = new WeakMap<Schema, MergeType>()

/** @param schema of an immutable kind: the result is kept as long as the schema */
export function mergeTypeOf(schema: Schema): MergeType {
  let type = known.get(schema)
  if (type === undefined) {
    type = read(schema)
    known.set(schema, type)
  }
  return type
}

/** Returns the type of a value; only that of a deduced type depends on the value. */
export function resolved(type: MergeType, value: Json | undefined): Exclude<MergeType, { kind: 'deduced' }> {
  if (type.kind !== 'deduced') return type
  return (isJsonObject(value) ? deducedMap : leaf) as Exclude<MergeType, { kind: 'deduced' }>
}

function read(schema: Schema): MergeType {
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'integer':
    case 'number':
    case 'quantity':
    case 'int-or-string':
      return leaf
    case 'any':
      return schema.declared === undefined ? deduced : mergeTypeOf(schema.declared)
    case 'list':
      return listType(schema)
    case 'map': {
      if (schema.mapType === 'atomic') return leaf
      return { kind: 'struct', member: () => null, other: mergeTypeOf(schema.values) }
    }
    case 'object':
      return structType(schema)
    default:
      return assertNever(schema)
  }
}

function structType({ mapType, instead, properties }: ObjectSchema): MergeType {
  if (mapType === 'atomic') return leaf
  if (instead !== undefined) return deduced
  // Every write needs the types of members, so they are cached.
  const members = new Map<string, MergeType>()
  const member = (name: string): MergeType | null => {
    const found = members.get(name)
    if (found !== undefined) return found
    const of = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (of === undefined) return null
    const type = mergeTypeOf(of)
    members.set(name, type)
    return type
  }
  return { kind: 'struct', member, other: deduced }
}

/** A list that strategic merge patches merge is not atomic, as upstream. */
function listType(schema: ListSchema): MergeType {
  const { items, patchMergeKey, patchStrategy = '' } = schema
  const isMerged = patchStrategy.startsWith('merge')
  const type = schema.listType ?? (!isMerged ? 'atomic' : patchMergeKey === undefined ? 'set' : 'map')
  if (type === 'atomic') return leaf
  if (type === 'set') return set
  const names = schema.listMapKeys ?? (patchMergeKey === undefined ? [] : [patchMergeKey])
  const properties = items.type === 'object' ? items.properties : {}
  const keys = names.map((name) => {
    const key = Object.hasOwn(properties, name) ? properties[name] : undefined
    return { name, default: key?.default }
  })
  const inside = mergeTypeOf(items)
  // An atomic element is identified by its keys all the same.
  return { kind: 'keyed', keys, items: inside }
}
