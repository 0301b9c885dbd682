import { tooLarge } from '../errors/standard-errors.ts'
import { jsonText } from '../codec/json-text.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, memberOf, setMember } from '../json.ts'
import { applyDefaults } from '../schema/default.ts'
import { partialObjectMetadataSchema } from '../schema/shared.ts'
import { headOf, prunedDefault } from './conform-custom.ts'
import { customLimits } from './limits.ts'
import type { Structural } from './structural.ts'

/**
 * Adds defaults for members that are absent, or null where that is not allowed, at any depth. An
 * absent struct without a default of its own is not created for the defaults inside of it.
 *
 * @param object as `conformCustom` leaves it
 * @returns the identical object if nothing was missing
 * @throws ApiError RequestEntityTooLarge: the defaults make the object too large
 * @source apiextensions `pkg/apiserver/schema/defaulting/algorithm.go`
 */
export function defaultCustom(root: Structural, object: JsonObject): JsonObject {
  const head = headOf(object)
  const whole = applyDefaults(partialObjectMetadataSchema, head)
  const body = fillObject(root, object, { charactersLeft: customLimits.defaultsCharactersMax })
  return whole === head ? body : { ...body, ...whole }
}

/**
 * Returns the default of a schema, as objects get it: with the defaults inside of it.
 *
 * @throws ApiError RequestEntityTooLarge
 */
export function filledDefault(node: Structural): Json {
  return fill(node, defaultOf(node).value, { charactersLeft: customLimits.defaultsCharactersMax })
}

type DefaultsBudget = { charactersLeft: number }

function fill(node: Structural, value: Json, budget: DefaultsBudget): Json {
  if (!node.holdsDefaults) return value
  if (isJsonObject(value)) return fillObject(node, value, budget)
  const { items } = node
  if (!isJsonList(value) || items === null) return value
  let draft: Json[] | null = null
  for (let at = 0; at < value.length; at++) {
    const item = value[at] as Json
    const next = fill(items, orDefault(items, item, budget), budget)
    if (next === item) continue
    draft ??= [...value]
    draft[at] = next
  }
  return draft ?? value
}

function fillObject(node: Structural, object: JsonObject, budget: DefaultsBudget): JsonObject {
  if (!node.holdsDefaults) return object
  let draft: JsonObjectDraft | null = null
  const set = (name: string, value: Json): void => {
    if (memberOf(draft ?? object, name) === value) return
    draft ??= { ...object }
    setMember(draft, name, value)
  }
  for (const [name, schema] of node.defaulted) {
    const value = memberOf(object, name)
    const whole = orDefault(schema, value ?? null, budget, value === undefined)
    if (value !== undefined || whole !== null) set(name, fill(schema, whole, budget))
  }
  const { additional } = node
  if (typeof additional === 'object' && additional !== null) {
    for (const name of Object.keys(object)) {
      if (node.properties.has(name)) continue
      set(name, fill(additional, orDefault(additional, object[name] as Json, budget), budget))
    }
  }
  return draft ?? object
}

/** @param absent the member is not present, as opposed to null */
function orDefault(node: Structural, value: Json, budget: DefaultsBudget, absent = false): Json {
  budget.charactersLeft--
  if (value !== null || (node.nullable && !absent)) return value
  const { value: filled, characters } = defaultOf(node)
  if (node.default !== null) budget.charactersLeft -= characters + CHARACTERS_A_DEFAULT
  if (budget.charactersLeft < 0) throw tooLarge('the defaults of its schema make the object too large')
  return filled
}

/** The cost of setting a member, in characters that are written. */
const CHARACTERS_A_DEFAULT = 32

type Default = { readonly value: Json; readonly characters: number }

/** Each default is pruned once. */
const defaults = new WeakMap<Structural, Default>()
const NONE: Default = { value: null, characters: 0 }

function defaultOf(node: Structural): Default {
  if (node.default === null) return NONE
  let found = defaults.get(node)
  if (found === undefined) {
    const value = prunedDefault(node)
    found = { value, characters: jsonText(value).length }
    defaults.set(node, found)
  }
  return found
}
