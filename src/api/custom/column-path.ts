import { isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { readColumnPath } from './column-path-syntax.ts'
import type { Comparison, Operand, Step } from './column-path-syntax.ts'
import { customLimits } from './limits.ts'

/**
 * Compiles a path of a printer column: `.spec.a`, `.metadata.labels['x']`,
 * `.status.conditions[?(@.type=="Ready")].status`, `[*]`, `[0]`, `[-1]`, `[0:2]`, `..name`. Pure;
 * the number of values it visits is bounded.
 *
 * @param visitsMax values that it may visit in one object
 * @returns a function that returns the first value at the path, or null if the path selects
 * nothing; or the error text for an invalid path
 * @source client-go `util/jsonpath`, which upstream parses it with
 */
export function compileColumnPath(
  path: string,
  visitsMax: number = customLimits.columnVisitsMax,
): ((object: JsonObject) => Json) | string {
  const steps = readColumnPath(path)
  if (typeof steps === 'string') return steps
  return (object) => follow(steps, [object], { left: visitsMax })[0] ?? null
}

/** How many more values may be visited. */
type Visits = { left: number }

/** @returns at most `columnValuesMax` values; empty if none may be visited any more */
function follow(steps: readonly Step[], from: readonly Json[], visits: Visits): readonly Json[] {
  let values = from
  for (const step of steps) {
    const next: Json[] = []
    for (const value of values) {
      for (const found of taken(step, value, visits)) {
        if (visits.left-- <= 0) return []
        if (next.length >= customLimits.columnValuesMax) break
        next.push(found)
      }
    }
    if (next.length === 0) return next
    values = next
  }
  return values
}

function* taken(step: Step, value: Json, visits: Visits): Iterable<Json> {
  switch (step.kind) {
    case 'member': {
      const found = isJsonObject(value) ? memberOf(value, step.name) : undefined
      if (found !== undefined) yield found
      return
    }
    case 'all':
      yield* elementsOf(value)
      return
    case 'slice':
      if (isJsonList(value)) yield* sliced(step, value)
      return
    case 'filter':
      for (const element of elementsOf(value)) {
        if (visits.left-- <= 0) return
        if (holds(step.condition, element, visits)) yield element
      }
      return
    case 'union':
      for (const one of step.steps) yield* taken(one, value, visits)
      return
    case 'below':
      yield* below(value)
      return
  }
}

function elementsOf(value: Json): Iterable<Json> {
  if (isJsonList(value)) return value
  return isJsonObject(value) ? Object.values(value) : []
}

/** Yields the value itself and everything inside it. The caller stops iterating at its limit. */
function* below(value: Json): Iterable<Json> {
  yield value
  for (const element of elementsOf(value)) yield* below(element)
}

function* sliced({ from, to, by }: Extract<Step, { kind: 'slice' }>, list: readonly Json[]): Iterable<Json> {
  const place = (at: number): number => (at < 0 ? at + list.length : at)
  const start = Math.max(0, place(from))
  const end = Math.min(list.length, to === null ? list.length : place(to))
  // As upstream: a position before the start of the list selects nothing, not the first element.
  if (place(from) < 0) return
  for (let at = start; at < end; at += by) yield list[at] as Json
}

function holds({ left, right }: Comparison, element: Json, visits: Visits): boolean {
  const value = valueOf(left, element, visits)
  if (right === null) return value !== undefined
  const other = valueOf(right.operand, element, visits)
  if (value === undefined || other === undefined || typeof value !== typeof other) return false
  if (!isComparable(value) || !isComparable(other)) return false
  switch (right.operator) {
    case '==':
      return value === other
    case '!=':
      return value !== other
    case '<':
      return value < other
    case '<=':
      return value <= other
    case '>':
      return value > other
    case '>=':
      return value >= other
  }
}

function isComparable(value: Json): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function valueOf(operand: Operand, element: Json, visits: Visits): Json | undefined {
  return operand.kind === 'literal' ? operand.value : follow(operand.steps, [element], visits)[0]
}
