import { CelBudget } from '../../cel/budget.ts'
import type { Findings } from '../../errors/findings.ts'
import { isJsonList, isJsonObject, memberOf } from '../../json.ts'
import type { Json, JsonObject } from '../../json.ts'
import { listIndex, mapKey, member } from '../../schema/path.ts'
import type { Path } from '../../schema/path.ts'
import { elementsByKey } from '../elements-by-key.ts'
import { customLimits } from '../limits.ts'
import { evaluateRule, ruleFinding } from './evaluate-rule.ts'
import type { RuleNode } from './rule-tree.ts'

/** The object that an update replaces. */
export type Replaced = {
  readonly object: JsonObject
  /** Whether the value at a path is as it was. */
  readonly isUnchanged: (at: Path | null) => boolean
  /** Receives the errors in unchanged values. */
  readonly tolerated: Findings
}

/**
 * Evaluates the rules of a custom kind on an object.
 *
 * @param object valid apart from its rules
 * @param replaced null: the object is new
 * @source apiextensions `pkg/apiserver/schema/cel/validation.go`
 */
export function evaluateRules(
  root: RuleNode,
  object: JsonObject,
  replaced: Replaced | null,
  findings: Findings,
): void {
  const evaluation = new Evaluation(replaced, findings)
  evaluation.visit(root, { value: object, old: replaced?.object }, { at: null, within: null })
}

/** Evaluates the rules of a schema on its default. */
export function evaluateDefault(
  node: RuleNode,
  { value, at }: { readonly value: Json; readonly at: Path },
  budget: CelBudget,
  findings: Findings,
): void {
  new Evaluation(null, findings, budget).visit(node, { value, old: undefined }, { at, within: null })
}

type Values = {
  readonly value: Json
  /** The value that it replaces; undefined: none, or none is known. */
  readonly old: Json | undefined
}

type Place = {
  readonly at: Path | null
  /**
   * Inside of `allOf`: the value that has to be unchanged for errors to be tolerated, as upstream.
   * null: the value itself.
   */
  readonly within: { readonly at: Path | null } | null
}

class Evaluation {
  readonly #replaced: Replaced | null
  readonly #findings: Findings
  readonly #budget: CelBudget
  #isStopped = false

  constructor(replaced: Replaced | null, findings: Findings, budget = budgetOfWrite()) {
    this.#replaced = replaced
    this.#findings = findings
    this.#budget = budget
  }

  visit(node: RuleNode, values: Values, place: Place): void {
    const { value } = values
    if (value === null || this.#isStopped || this.#findings.isFull) return
    this.#findings.spend(1, place.at)
    this.#evaluate(node, values, place)
    for (const part of node.allOf) this.visit(part, values, insideAllOf(place))
    if (isJsonList(value)) this.#visitItems(node, value, values.old, place)
    else if (isJsonObject(value)) this.#visitMembers(node, value, values.old, place)
  }

  #visitItems(
    { items, schema }: RuleNode,
    list: readonly Json[],
    old: Json | undefined,
    { at, within }: Place,
  ): void {
    if (items === null) return
    // Only the elements of lists of type map have keys.
    const isKeyed = schema.listType === 'map' && isJsonList(old)
    const oldOf = isKeyed ? elementsByKey(schema, old) : (): undefined => undefined
    list.forEach((value, index) => {
      this.visit(items, { value, old: oldOf(value) }, { at: listIndex(at, index), within })
    })
  }

  #visitMembers(
    { properties, additional }: RuleNode,
    object: JsonObject,
    old: Json | undefined,
    { at, within }: Place,
  ): void {
    if (properties.size === 0 && additional === null) return
    for (const name of Object.keys(object)) {
      const node = properties.get(name) ?? additional
      if (node === null) continue
      const place = additional === null ? member(at, name) : mapKey(at, name)
      const before = isJsonObject(old) ? memberOf(old, name) : undefined
      this.visit(node, { value: object[name] as Json, old: before }, { at: place, within })
    }
  }

  #evaluate({ rules, schema }: RuleNode, { value, old }: Values, place: Place): void {
    for (const { compiled } of rules) {
      if (this.#isStopped) return
      const rule = compiled()
      const result = evaluateRule(rule, { self: value, oldSelf: old ?? undefined }, this.#budget)
      if (result.kind === 'satisfied') this.#findings.add(null)
      if (result.kind === 'satisfied' || result.kind === 'skipped') continue
      // A transition rule rejects the change itself, and a rule that failed has no result.
      const canBeTolerated = result.kind === 'violated' && !rule.usesOldSelf
      const sink = (canBeTolerated ? this.#tolerance(place) : null) ?? this.#findings
      sink.add(ruleFinding(rule, result, { at: place.at, type: schema.type }))
      if (result.kind === 'stopped') this.#isStopped = true
    }
  }

  /** @returns null: errors at the place fail the write */
  #tolerance({ at, within }: Place): Findings | null {
    if (this.#replaced === null) return null
    const { isUnchanged, tolerated } = this.#replaced
    return isUnchanged(within === null ? at : within.at) ? tolerated : null
  }
}

function insideAllOf({ at, within }: Place): Place {
  return { at, within: within ?? { at: at === null ? null : at.parent } }
}

function budgetOfWrite(): CelBudget {
  return new CelBudget(customLimits.writeRuleCostMax, customLimits.writeRuleStepsMax)
}
