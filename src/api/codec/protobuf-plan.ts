import { assert } from '../../../base/assert.ts'
import type { ObjectSchema, Schema } from '../schema/schema.ts'

/** One field of a message. */
export type FieldPlan =
  | {
      readonly kind: 'member'
      readonly number: number
      /** Name of the member in JSON. */
      readonly name: string
      readonly schema: Schema
      /** Whether a zero in a message is a value of this member, which differs from absent. */
      readonly keepsZero: boolean
    }
  /** A message whose members are inlined into the struct in JSON. */
  | { readonly kind: 'inline'; readonly number: number; readonly schema: ObjectSchema }

/** The protobuf encoding of a struct. */
export type MessagePlan = {
  /** By descending number. */
  readonly descending: readonly FieldPlan[]
  readonly byNumber: ReadonlyMap<number, FieldPlan>
}

/** A plan is computed once for each struct, and released with it. */
const plans = new WeakMap<ObjectSchema, MessagePlan>()

/**
 * Returns the plan of a struct. Members without a number (kind and apiVersion, which are in the
 * envelope) are not part of the message.
 */
export function planOf(schema: ObjectSchema): MessagePlan {
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plan = makePlan(schema)
  plans.set(schema, plan)
  return plan
}

function makePlan(schema: ObjectSchema): MessagePlan {
  const fields: FieldPlan[] = (schema.inline ?? []).map((part) => ({ kind: 'inline', ...part }))
  for (const [name, number] of Object.entries(schema.protobuf ?? {})) {
    const member = schema.properties[name]
    assert(member !== undefined, `${schema.definition ?? 'a struct'} has the member ${name} that it numbers`)
    assert(!holdsMaps(member), `${name} holds no maps: they have no message`)
    const keepsZero = doesKeepZero(member, schema.required?.includes(name) === true)
    fields.push({ kind: 'member', number, name, schema: member, keepsZero })
  }
  const byNumber = new Map(fields.map((field) => [field.number, field]))
  assert(byNumber.size === fields.length, `${schema.definition ?? 'a struct'} has each number once`)
  return { descending: fields.sort((a, b) => b.number - a.number), byNumber }
}

/**
 * Returns whether a zero read from a message is kept. Messages contain the zero of unset members. A
 * zero is kept if zero and absent differ. Otherwise it is dropped if the member has a default. It
 * is kept if JSON always has the member, or if the member is a required number, boolean or struct.
 */
function doesKeepZero(schema: Schema, required: boolean): boolean {
  if (schema.zeroMatters === true) return true
  if (schema.default !== undefined) return false
  if (schema.always === true) return true
  return required && ['integer', 'number', 'boolean', 'object'].includes(schema.type)
}

function holdsMaps(schema: Schema): boolean {
  if (schema.type === 'list') return schema.items.type === 'map' || holdsMaps(schema.items)
  return schema.type === 'map' && (schema.values.type === 'map' || holdsMaps(schema.values))
}
