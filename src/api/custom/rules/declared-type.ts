import { celFieldName } from '../../cel/field-names.ts'
import { celBool, celDouble, celDuration, celInt, celObject, celTimestamp } from '../../cel/types.ts'
import type { CelField, CelType } from '../../cel/types.ts'
import { utf8Length } from '../../utf8.ts'
import type { Structural } from '../structural.ts'

/** The type of the values of a schema, as expressions see it. */
export type Declared = {
  readonly type: CelType
  /** Minimum number of bytes of a value as JSON: it limits how many fit into one request. */
  readonly bytesMin: number
  /** The type of the elements of a list or the values of a map. */
  readonly element: Declared | null
  /** By their names in JSON, also those that no expression can name. */
  readonly properties: ReadonlyMap<string, Declared>
}

/** Bytes of the largest request, as upstream counts them. */
export const requestBytesMax = 3 * 1024 * 1024

/**
 * Returns the type of a schema.
 *
 * @param name of object types, unique in one schema
 * @param isObject the value is a whole API object
 * @returns null: expressions cannot see values of the schema, because they may be of any type
 * @source apiextensions `pkg/apiserver/schema/cel/model`, SchemaDeclType
 */
export function declaredType(node: Structural, name: string, isObject: boolean): Declared | null {
  if (node.intOrString) return leaf({ kind: 'dyn', maxSize: textSizeOf(node.rules) }, 1)
  if (isObject) return structType(node, name, objectMembers(node, name))
  switch (node.type) {
    case 'array':
      return listType(node, name)
    case 'object':
      return objectType(node, name)
    case 'string':
      return textType(node)
    case 'boolean':
      return leaf(celBool, 4)
    case 'number':
      return leaf(celDouble, 1)
    case 'integer':
      return leaf(celInt, 1)
    case '':
      return null
  }
}

function leaf(type: CelType, bytesMin: number): Declared {
  return { type, bytesMin, element: null, properties: NONE }
}

const NONE: ReadonlyMap<string, Declared> = new Map()

/** An empty text in quotes. */
const TEXT_BYTES_MIN = 2

function textType({ rules }: Structural): Declared {
  const { format, lengthMax } = rules
  switch (format) {
    case 'byte':
      return leaf({ kind: 'bytes', maxSize: lengthMax ?? requestBytesMax - TEXT_BYTES_MIN }, TEXT_BYTES_MIN)
    case 'duration':
      return leaf(celDuration, 3)
    case 'date':
      return leaf(celTimestamp, 12)
    case 'date-time':
      return leaf(celTimestamp, 21)
    default:
      return leaf({ kind: 'string', maxSize: textSizeOf(rules) }, TEXT_BYTES_MIN)
  }
}

/** Returns the maximum size of a text, at four bytes for each character. */
function textSizeOf({ lengthMax, enum: values }: Structural['rules']): number {
  if (lengthMax !== null) return Math.max(0, lengthMax) * 4
  const texts = values.filter((value) => typeof value === 'string')
  if (values.length === 0) return requestBytesMax - TEXT_BYTES_MIN
  return texts.reduce((longest, text) => Math.max(longest, utf8Length(text)), 0)
}

function listType(node: Structural, name: string): Declared | null {
  const { items, rules, listType: kind, listMapKeys: keys } = node
  if (items === null) return null
  const element = declaredType(items, `${name}.@idx`, items.embedded)
  if (element === null) return null
  const fitting = Math.floor((requestBytesMax - 2) / (element.bytesMin + 1))
  const maxSize = rules.itemsMax === null ? fitting : Math.max(0, rules.itemsMax)
  const identity = kind === 'set' ? 'set' : kind === 'map' ? { keys } : null
  const type: CelType = {
    ...{ kind: 'list', element: element.type, maxSize },
    ...(identity === null ? {} : { identity }),
  }
  return { type, bytesMin: 2, element, properties: NONE }
}

function objectType(node: Structural, name: string): Declared | null {
  const { additional } = node
  if (additional === null || typeof additional === 'boolean') {
    return structType(node, name, propertiesOf(node, name))
  }
  const element = declaredType(additional, `${name}.@elem`, additional.embedded)
  if (element === null) return null
  const { propertiesMax } = node.rules
  const fitting = Math.floor((requestBytesMax - 2) / (element.bytesMin + 6))
  const maxSize = propertiesMax === null ? fitting : Math.max(0, propertiesMax)
  const type: CelType = { kind: 'map', key: KEY, value: element.type, maxSize }
  return { type, bytesMin: 2, element, properties: NONE }
}

/**
 * No schema can limit the length of a key. As upstream, keys are estimated as empty, or common
 * rules that search keys would be rejected. The actual cost counts when the rule is evaluated.
 */
const KEY: CelType = { kind: 'string', maxSize: 0 }

type Members = Map<string, Declared>

function propertiesOf(node: Structural, name: string): Members {
  const members: Members = new Map()
  for (const [property, schema] of node.properties) {
    const declared = declaredType(schema, `${name}.${property}`, schema.embedded)
    if (declared !== null) members.set(property, declared)
  }
  return members
}

/** Expressions can always read kind, apiVersion and the names in metadata. */
function objectMembers(node: Structural, name: string): Members {
  const members = propertiesOf(node, name)
  const given = members.get('metadata')?.properties ?? NONE
  const metadata: Members = new Map(given)
  for (const member of ['name', 'generateName']) if (!metadata.has(member)) metadata.set(member, TEXT)
  for (const member of ['kind', 'apiVersion']) if (!members.has(member)) members.set(member, TEXT)
  members.set('metadata', typeOfMembers(`${name}.metadata`, metadata, 2))
  return members
}

const TEXT: Declared = leaf({ kind: 'string', maxSize: requestBytesMax - TEXT_BYTES_MIN }, TEXT_BYTES_MIN)

function structType({ rules, properties }: Structural, name: string, members: Members): Declared {
  let bytesMin = 2
  for (const property of rules.required) {
    const declared = members.get(property)
    const filled = (properties.get(property)?.default ?? null) !== null
    if (declared !== undefined && !filled) bytesMin += property.length + declared.bytesMin + 4
  }
  return typeOfMembers(name, members, bytesMin)
}

function typeOfMembers(name: string, members: Members, bytesMin: number): Declared {
  const fields = new Map<string, CelField>()
  for (const [member, { type }] of members) {
    const celName = celFieldName(member)
    if (celName !== undefined) fields.set(celName, { member, type })
  }
  return { type: celObject(name, fields), bytesMin, element: null, properties: members }
}
