import type { Json, JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { isJsonObject, memberOf, objectMember, textMember } from '../../api/json.ts'

/**
 * Converts metrics between version 2 and the shape before it, whose amounts are members of the
 * metric. The type of a target follows from the amounts that are set.
 *
 * @source upstream `pkg/apis/autoscaling/v1/conversion.go`
 */

/** The older names of the members of one source of metrics, and their places in version 2. */
type Renaming = {
  readonly names: { readonly [legacy: string]: readonly [part: string, name?: string] }
  /** Amounts, which version 2 has in `target`, or in `current` of a status. */
  readonly amounts: { readonly [legacy: string]: 'value' | 'averageValue' | 'averageUtilization' }
  /** Amounts that the older shape always has: zero when unset. */
  readonly always: readonly string[]
}

const named = { metricName: ['metric', 'name'], selector: ['metric', 'selector'] } as const
const external = { metricName: ['metric', 'name'], metricSelector: ['metric', 'selector'] } as const

const specs: { readonly [source: string]: Renaming } = {
  object: {
    names: { target: ['describedObject'], ...named },
    amounts: { targetValue: 'value', averageValue: 'averageValue' },
    always: ['targetValue'],
  },
  pods: { names: named, amounts: { targetAverageValue: 'averageValue' }, always: ['targetAverageValue'] },
  resource: {
    names: { name: ['name'] },
    amounts: { targetAverageUtilization: 'averageUtilization', targetAverageValue: 'averageValue' },
    always: [],
  },
  containerResource: {
    names: { name: ['name'], container: ['container'] },
    amounts: { targetAverageUtilization: 'averageUtilization', targetAverageValue: 'averageValue' },
    always: [],
  },
  external: {
    names: external,
    amounts: { targetValue: 'value', targetAverageValue: 'averageValue' },
    always: [],
  },
}

const statuses: { readonly [source: string]: Renaming } = {
  object: {
    names: { target: ['describedObject'], ...named },
    amounts: { currentValue: 'value', averageValue: 'averageValue' },
    always: ['currentValue'],
  },
  pods: { names: named, amounts: { currentAverageValue: 'averageValue' }, always: ['currentAverageValue'] },
  resource: {
    names: { name: ['name'] },
    amounts: { currentAverageUtilization: 'averageUtilization', currentAverageValue: 'averageValue' },
    always: ['currentAverageValue'],
  },
  containerResource: {
    names: { name: ['name'], container: ['container'] },
    amounts: { currentAverageUtilization: 'averageUtilization', currentAverageValue: 'averageValue' },
    always: ['currentAverageValue'],
  },
  external: {
    names: external,
    amounts: { currentValue: 'value', currentAverageValue: 'averageValue' },
    always: ['currentValue'],
  },
}

export function legacySpecOf(metric: JsonObject): JsonObject {
  return eachSource(metric, specs, (source, renaming) => toLegacy(source, 'target', renaming))
}

export function metricOfLegacySpec(metric: JsonObject): JsonObject {
  return eachSource(metric, specs, (source, renaming) => {
    const { amounts, rest } = fromLegacy(source, renaming)
    return { ...rest, target: { type: targetType(amounts), ...amounts } }
  })
}

export function legacyStatusOf(metric: JsonObject): JsonObject {
  return eachSource(metric, statuses, (source, renaming) => toLegacy(source, 'current', renaming))
}

export function metricOfLegacyStatus(metric: JsonObject): JsonObject {
  return eachSource(metric, statuses, (source, renaming) => {
    const { amounts, rest } = fromLegacy(source, renaming)
    return { ...rest, current: amounts }
  })
}

function eachSource(
  metric: JsonObject,
  renamings: { readonly [source: string]: Renaming },
  convert: (source: JsonObject, renaming: Renaming) => JsonObject,
): JsonObject {
  const converted: JsonObjectDraft = { type: textMember(metric, 'type') }
  for (const [name, renaming] of Object.entries(renamings)) {
    const source = memberOf(metric, name)
    if (isJsonObject(source)) converted[name] = convert(source, renaming)
  }
  return converted
}

function toLegacy(
  source: JsonObject,
  amountsIn: 'target' | 'current',
  { names, amounts, always }: Renaming,
): JsonObject {
  const legacy: JsonObjectDraft = {}
  for (const [name, [part, inPart]] of Object.entries(names)) {
    const value = inPart === undefined ? memberOf(source, part) : memberOf(objectMember(source, part), inPart)
    if (value !== undefined) legacy[name] = value
  }
  const given = objectMember(source, amountsIn)
  for (const [name, amount] of Object.entries(amounts)) {
    const value = memberOf(given, amount) ?? (always.includes(name) ? '0' : undefined)
    if (value !== undefined) legacy[name] = value
  }
  return legacy
}

function fromLegacy(
  source: JsonObject,
  { names, amounts }: Renaming,
): { readonly amounts: JsonObject; readonly rest: JsonObject } {
  const parts: { [name: string]: Json } = {}
  for (const [name, [part, inPart]] of Object.entries(names)) {
    const value = memberOf(source, name)
    if (value === undefined) continue
    parts[part] = inPart === undefined ? value : { ...objectMember(parts, part), [inPart]: value }
  }
  const given: JsonObjectDraft = {}
  for (const [name, amount] of Object.entries(amounts)) {
    const value = memberOf(source, name)
    if (value !== undefined) given[amount] = value
  }
  return { amounts: withoutUnsetValue(source, given), rest: parts }
}

/** The older shape of an object's metric always has a target value: zero if there is an average. */
function withoutUnsetValue(source: JsonObject, amounts: JsonObject): JsonObject {
  const isUnset = memberOf(source, 'targetValue') === '0' && memberOf(amounts, 'averageValue') !== undefined
  return isUnset ? { averageValue: memberOf(amounts, 'averageValue') ?? '0' } : amounts
}

function targetType(amounts: JsonObject): string {
  if (memberOf(amounts, 'averageUtilization') !== undefined) return 'Utilization'
  const isOfAll = memberOf(amounts, 'value') !== undefined && memberOf(amounts, 'averageValue') === undefined
  return isOfAll ? 'Value' : 'AverageValue'
}
