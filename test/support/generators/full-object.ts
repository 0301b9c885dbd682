import { assertNever } from '../../../base/assert.ts'
import { SeededRandom } from '../../../base/random.ts'
import { setMember } from '../../../src/api/json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../../../src/api/json.ts'
import type { Names } from '../../../src/api/metadata/names.ts'
import type {
  IntegerSchema,
  ListSchema,
  ObjectSchema,
  Schema,
  StringSchema,
} from '../../../src/api/schema/schema.ts'
import { apiVersionOf, isStored } from '../../../src/registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../../src/registry/kinds/definition.ts'
import { hints, mends, namesOfKinds, unions } from './full-object-hints.ts'
import type { ObjectMaker } from './hint.ts'
import { hostileTexts } from './hostile-texts.ts'

/**
 * Draws valid objects in which every member is set to a non-zero value, except where a hint leaves
 * it out or gives zero. The schema gives most of the rules; `full-object-hints.ts` holds the
 * others.
 *
 * The variant selects one member of a union: the elements of a list cover all members, and a kind
 * has as many variants as its largest union outside lists.
 */
export class FullObjects implements ObjectMaker {
  readonly names: Names
  readonly random: SeededRandom
  #words = 0

  constructor(names: Names, seed: number) {
    this.names = names
    this.random = new SeededRandom(seed)
  }

  /** @param variant from 0; see `variantsOf` */
  object(definition: ResourceDefinition, variant: number): JsonObject {
    const { kind } = definition
    const metadata = isStored(definition) ? this.#metadata(definition) : unstoredMetadata(definition)
    const members = this.struct(definition.schema, variant)
    const name = namesOfKinds[kind]?.(members)
    return {
      apiVersion: apiVersionOf(definition),
      kind,
      metadata: name === undefined ? metadata : { ...metadata, name },
      ...members,
    }
  }

  struct(schema: ObjectSchema, variant: number): JsonObjectDraft {
    const of = schema.definition ?? ''
    const draft: JsonObjectDraft = {}
    const union = unions[of] ?? []
    const chosen = chosenOf(schema, variant)
    for (const [name, type] of Object.entries(schema.properties)) {
      if (union.includes(name) && name !== chosen?.name) continue
      const hint = hints[`${of}.${name}`]
      const its = name === chosen?.name ? chosen.variant : variant
      const value = hint === undefined ? this.value(type, its) : hint(this, variant)
      if (value !== undefined) setMember(draft, name, value)
    }
    mends[of]?.(draft, variant)
    return draft
  }

  value(schema: Schema, variant: number): Json {
    switch (schema.type) {
      case 'string':
        return this.#string(schema, variant)
      case 'boolean':
        return true
      case 'integer':
        return this.#integer(schema)
      case 'number':
        return this.random.below(1000) + 0.5
      case 'quantity':
        return this.random.pick(['3Gi', '64Mi', '7k'])
      case 'int-or-string':
        return variant % 2 === 0 ? 1 + this.random.below(65_535) : this.word()
      case 'any':
        return { a: [1, this.word(), { b: false }] }
      case 'object':
        return this.struct(schema, variant)
      case 'list':
        return this.#list(schema)
      case 'map':
        if (schema.values.type === 'quantity') return { cpu: '2', memory: '1Gi' }
        return { [this.word()]: this.value(schema.values, 0), [this.word()]: this.value(schema.values, 1) }
      default:
        return assertNever(schema)
    }
  }

  /** Returns a label that no other object of this generator has. */
  word(): string {
    const letters = Array.from({ length: 3 }, () =>
      'abcdefghijklmnopqrstuvwxyz'.charAt(this.random.below(26)),
    )
    return `${letters.join('')}${(this.#words++).toString(36)}`
  }

  /** Returns the first variant of a union that has this member. */
  variantWith(schema: ObjectSchema, member: string): number {
    for (let variant = 0; variant < choicesOf(schema); variant++) {
      if (chosenOf(schema, variant)?.name === member) return variant
    }
    throw new Error(`${schema.definition ?? ''} has no choice of ${member}`)
  }

  #list({ items }: ListSchema): readonly Json[] {
    if (items.type === 'string' && items.enum !== undefined) return items.enum.filter((text) => text !== '')
    const count = Math.max(choicesOf(items), 2)
    return Array.from({ length: count }, (_, at) => this.value(items, at))
  }

  #string(schema: StringSchema, variant: number): string {
    const time = `2026-01-02T03:04:${String(10 + this.random.below(50))}`
    switch (schema.format) {
      case undefined:
        break
      case 'bytes':
        return Buffer.from(this.random.bytes(1 + this.random.below(20))).toString('base64')
      case 'date-time':
        return `${time}Z`
      case 'micro-time':
        return `${time}.${String(1 + this.random.below(999_999)).padStart(6, '0')}Z`
      default:
        return assertNever(schema.format)
    }
    const closed = schema.enum?.filter((text) => text !== '') ?? []
    return closed[variant % Math.max(closed.length, 1)] ?? this.word()
  }

  #integer({ format, minimum = 1, maximum }: IntegerSchema): number {
    const low = Math.max(minimum, format === 'int32' ? 1 : 600)
    const high = maximum ?? (format === 'int32' ? 100 : 2 ** 31)
    return high <= low ? high : low + this.random.below(high - low)
  }

  #metadata({ scope }: ResourceDefinition): JsonObject {
    const texts = Object.fromEntries(hostileTexts.map((text, at) => [`example.com/t${at}`, text]))
    return {
      name: this.word(),
      generateName: 'drawn-',
      ...(scope === 'Namespaced' ? { namespace: 'default' } : {}),
      labels: { [this.word()]: this.word(), 'example.com/part': 'A.b_c-1' },
      annotations: texts,
      ownerReferences: [
        {
          ...{ apiVersion: 'v1', kind: 'ConfigMap', name: this.word(), uid: this.word() },
          ...{ controller: true, blockOwnerDeletion: true },
        },
      ],
      finalizers: ['example.com/hold', 'foregroundDeletion'],
      ...ownedByServer,
    }
  }
}

/** An object that represents an operation on another object has the name of that object. */
function unstoredMetadata({ scope, aliasOfSubresource }: ResourceDefinition): JsonObject {
  return {
    ...(aliasOfSubresource === undefined ? {} : { name: OPERATED_POD }),
    ...(scope === 'Namespaced' ? { namespace: 'default' } : {}),
  }
}

/** The name of the Pod on which objects of such kinds operate. The test creates it. */
export const OPERATED_POD = 'operated-pod'

/** Fields that the server ignores in new objects. */
export const ownedByServer: JsonObject = {
  selfLink: '/somewhere',
  uid: '00000000-0000-4000-8000-000000000000',
  generation: 77,
  creationTimestamp: '2001-02-03T04:05:06Z',
  deletionTimestamp: '2001-02-03T04:05:07Z',
  deletionGracePeriodSeconds: 7,
  clusterName: 'elsewhere',
  managedFields: [
    {
      ...{ manager: 'test', operation: 'Update', apiVersion: 'v1', time: '2001-02-03T04:05:06Z' },
      ...{ fieldsType: 'FieldsV1', fieldsV1: { 'f:metadata': {} }, subresource: 'status' },
    },
  ],
}

/** The number of variants that cover all members of a kind. */
export function variantsOf({ schema }: ResourceDefinition): number {
  return choicesOf(schema)
}

type Chosen = { readonly name: string; readonly variant: number }

/** Returns which member of a union is set in a variant, and the variant of that member. */
function chosenOf(schema: ObjectSchema, variant: number): Chosen | null {
  const choices = (unions[schema.definition ?? ''] ?? []).flatMap((name) =>
    Array.from({ length: memberChoices(schema, name) }, (_, at) => ({ name, variant: at })),
  )
  return choices[variant % Math.max(choices.length, 1)] ?? null
}

const known = new Map<Schema, number>()

/** The size of the largest union. A list covers all members of a union. */
function choicesOf(schema: Schema): number {
  const before = known.get(schema)
  if (before !== undefined) return before
  known.set(schema, 1)
  const count = countChoices(schema)
  known.set(schema, count)
  return count
}

function countChoices(schema: Schema): number {
  if (schema.type === 'int-or-string') return 2
  if (schema.type === 'string') return Math.max(schema.enum?.filter((text) => text !== '').length ?? 1, 1)
  if (schema.type !== 'object') return 1
  const union = unions[schema.definition ?? ''] ?? []
  const inUnion = union.reduce((sum, name) => sum + memberChoices(schema, name), 0)
  const others = Object.keys(schema.properties).filter((name) => !union.includes(name))
  return Math.max(1, inUnion, ...others.map((name) => memberChoices(schema, name)))
}

function memberChoices(schema: ObjectSchema, name: string): number {
  const type = schema.properties[name]
  return type === undefined || Object.hasOwn(hints, `${schema.definition ?? ''}.${name}`)
    ? 1
    : choicesOf(type)
}
