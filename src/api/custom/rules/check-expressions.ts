import type { Findings } from '../../errors/findings.ts'
import { fieldForbidden, invalid } from '../../errors/field-error.ts'
import type { Finding } from '../../errors/field-error.ts'
import { fieldAt, listIndex, mapKey, member, spellPath } from '../../schema/path.ts'
import type { Path } from '../../schema/path.ts'
import type { CheckBudget } from '../check-budget.ts'
import { customLimits } from '../limits.ts'
import type { Structural, ValidationRule } from '../structural.ts'
import { constantPatternError } from './check-patterns.ts'
import type { PatternBudget } from './check-patterns.ts'
import { compileRule } from './compile-rule.ts'
import type { Compiled } from './compile-rule.ts'
import { declaredType } from './declared-type.ts'
import type { Declared } from './declared-type.ts'
import { costOfAll, costWords, occurrencesInside } from './rule-cost.ts'
import type { Occurrences } from './rule-cost.ts'
import { hasRules } from './rule-tree.ts'

export type ExpressionCheck = {
  /** Name of the list of rules in a schema. */
  readonly marker: string
  readonly budget: CheckBudget
  /** The schema that an update replaces; its broken rules may stay. null: there is none. */
  readonly before: Structural | null
}

/**
 * Compiles the expressions of all rules of a schema, and checks their types and what they may cost.
 *
 * @param root has passed all checks but those of its rules
 * @source apiextensions `pkg/apis/apiextensions/validation/{validation,cel_validation}.go`
 */
export function checkExpressions(
  root: Structural,
  at: Path,
  { marker, budget, before }: ExpressionCheck,
  findings: Findings,
): void {
  if (!hasRules(root)) return
  const walk = new ExpressionWalk(marker, budget, budget)
  walk.schema(root, at)
  if (walk.problems.length === 0 && !walk.isTooExpensive) return
  // The cost of the old schema only matters if that of the new one is too high.
  const only = walk.isTooExpensive ? null : new Set(walk.problems.map(({ key }) => key))
  const old = before === null ? null : new ExpressionWalk(marker, null, budget, only)
  if (before !== null) old?.schema(before, at)
  const known = new Set(old?.problems.map(({ key }) => key))
  for (const { key, finding } of walk.problems) if (!known.has(key)) findings.add(finding)
  if (walk.isTooExpensive && old?.isTooExpensive !== true) walk.reportCost(at, findings)
}

type Problem = {
  /** Equal for all problems of one rule of a schema, even if other rules are added before it. */
  readonly key: string
  readonly finding: Finding
}

type Position = {
  readonly at: Path
  readonly occurrences: Occurrences
  /** Path of the outermost list around the schema that is not of type map; null: there is none. */
  readonly uncorrelated: Path | null
}

/** An expensive expression. */
type Expensive = { readonly at: Path; readonly cost: number }

class ExpressionWalk {
  readonly problems: Problem[] = []
  readonly #marker: string
  readonly #budget: CheckBudget | null
  readonly #patterns: PatternBudget
  readonly #only: ReadonlySet<string> | null
  #cost = 0
  #expensive: Expensive[] = []
  #isStopped = false

  /**
   * @param budget null: unlimited, for a schema that was checked before
   * @param patterns shared by the walks of the new and the old schema
   * @param only the keys of the rules to check; null: all
   */
  constructor(
    marker: string,
    budget: CheckBudget | null,
    patterns: PatternBudget,
    only: ReadonlySet<string> | null = null,
  ) {
    this.#only = only
    this.#marker = marker
    this.#budget = budget
    this.#patterns = patterns
  }

  get isTooExpensive(): boolean {
    return this.#cost > customLimits.versionRuleCostMax
  }

  schema(root: Structural, at: Path): void {
    const declared = declaredType(root, 'selfType', true)
    this.#visit(root, root, declared, { at, occurrences: 1, uncorrelated: null })
  }

  reportCost(at: Path, findings: Findings): void {
    const words = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
    for (const { at: place } of this.#expensive) findings.add(fieldForbidden(place, words))
    const what = `${this.#marker} estimated rule cost total for entire OpenAPIv3 schema`
    findings.add(fieldForbidden(at, costWords(what, this.#cost, customLimits.versionRuleCostMax)))
  }

  /** @param own has the rules: the schema itself, or one in its `allOf` */
  #visit(own: Structural, schema: Structural, declared: Declared | null, position: Position): void {
    if (this.#isStopped || !hasRules(own)) return
    this.#checkRules(own, schema, declared, position)
    const { at, uncorrelated } = position
    const occurrences = occurrencesInside(schema, position.occurrences)
    for (const [name, part] of own.properties) {
      const inside = schema.properties.get(name)
      const type = declared?.properties.get(name) ?? null
      const place = mapKey(member(at, 'properties'), name)
      if (inside !== undefined) this.#visit(part, inside, type, { at: place, occurrences, uncorrelated })
    }
    if (isSchema(own.additional) && isSchema(schema.additional)) {
      const place = member(at, 'additionalProperties')
      const inside = { at: place, occurrences, uncorrelated }
      this.#visit(own.additional, schema.additional, declared?.element ?? null, inside)
    }
    if (own.items !== null && schema.items !== null) {
      const isKeyed = schema.listType === 'map'
      const around = uncorrelated ?? (isKeyed ? null : at)
      const inside = { at: member(at, 'items'), occurrences, uncorrelated: around }
      this.#visit(own.items, schema.items, declared?.element ?? null, inside)
    }
    own.rules.allOf.forEach((part, index) => {
      const place = listIndex(member(at, 'allOf'), index)
      this.#visit(part, schema, declared, { ...position, at: place })
    })
  }

  #checkRules(own: Structural, schema: Structural, declared: Declared | null, position: Position): void {
    const list = member(position.at, this.#marker)
    for (const [index, rule] of own.validations.entries()) {
      const at = listIndex(list, index)
      if (this.#only !== null && !this.#only.has(keyOf(rule, position.at))) continue
      const report = (finding: Finding): void => this.#report(rule, position.at, finding)
      if (declared === null) {
        const words = 'expressions cannot read values whose schema has no type; specify one'
        report(invalid(fieldAt(at, 'rule'), rule.rule, words))
      } else if (this.#spend(rule, at, report))
        this.#checkRule(rule, schema, declared, { ...position, at }, report)
      if (this.#isStopped) return
    }
  }

  #report(rule: ValidationRule, schema: Path, finding: Finding): void {
    this.problems.push({ key: keyOf(rule, schema), finding })
  }

  /** @returns whether the rule is within the limits of the definition */
  #spend(rule: ValidationRule, at: Path, report: (finding: Finding) => void): boolean {
    if (this.#budget === null) return true
    this.#budget.rulesLeft--
    this.#budget.ruleCharactersLeft -= rule.rule.length + rule.messageExpression.length
    const { rulesMax, ruleCharactersMax } = customLimits
    if (this.#budget.rulesLeft >= 0 && this.#budget.ruleCharactersLeft >= 0) return true
    const words = `a definition may have at most ${rulesMax} rules, of ${ruleCharactersMax} characters together`
    report(fieldForbidden(at, words))
    this.#isStopped = true
    return false
  }

  /** @returns whether the rules so far are within the limit of the definition */
  #spendNodes(
    rule: ValidationRule,
    compiled: readonly (Compiled | null)[],
    at: Path,
    report: (finding: Finding) => void,
  ): boolean {
    if (this.#budget === null) return true
    for (const each of compiled) {
      if (each === null) continue
      // The nodes of a rejected expression are unknown: one for two characters is an estimate.
      const nodes = each.kind === 'compiled' ? each.expression.checked.types.size : rule.rule.length / 2
      this.#budget.ruleNodesLeft -= nodes
    }
    if (this.#budget.ruleNodesLeft >= 0) return true
    const words = `the rules of a definition may have at most ${customLimits.ruleNodesMax} nodes together`
    report(fieldForbidden(at, words))
    this.#isStopped = true
    return false
  }

  #checkRule(
    rule: ValidationRule,
    schema: Structural,
    declared: Declared,
    { at, occurrences, uncorrelated }: Position,
    report: (finding: Finding) => void,
  ): void {
    const { condition, message, usesOldSelf } = compileRule(rule, declared, schema)
    if (!this.#spendNodes(rule, [condition, message], at, report)) return
    const check = (name: 'rule' | 'messageExpression', compiled: Compiled, times: Occurrences): void => {
      const place = member(at, name)
      const words = compiled.kind === 'rejected' ? compiled.words : this.#patternWords(name, compiled)
      if (words !== null) report(invalid(place, rule[name], words))
      if (compiled.kind === 'compiled')
        this.#checkCost(place, name, costOfAll(compiled.costMax, times, declared), report)
    }
    check('rule', condition, occurrences)
    // As upstream: a message is made once for the first value that violates the rule.
    if (message !== null) check('messageExpression', message, 1)
    if (usesOldSelf && uncorrelated !== null) {
      const words = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${spellPath(uncorrelated)}`
      report(invalid(fieldAt(at, 'rule'), rule.rule, words))
    } else if (condition.kind === 'compiled' && !usesOldSelf && rule.optionalOldSelf !== null) {
      const words = 'may not be set if oldSelf is not used in rule'
      report(invalid(fieldAt(at, 'optionalOldSelf'), rule.optionalOldSelf, words))
    }
  }

  /**
   * Returns the error for a constant pattern that does not compile. Only new rules are refused for
   * it, because a stored rule may never evaluate the pattern.
   *
   * @returns null: all constant patterns compile
   */
  #patternWords(name: 'rule' | 'messageExpression', { expression }: CompiledExpression): string | null {
    const error = constantPatternError(expression, this.#patterns)
    if (error === null) return null
    const what = name === 'rule' ? '' : 'messageExpression '
    return `${what}program instantiation failed: ${error}`
  }

  #checkCost(
    at: Path,
    name: 'rule' | 'messageExpression',
    cost: number,
    report: (finding: Finding) => void,
  ): void {
    const { ruleCostMax, versionRuleCostMax } = customLimits
    if (cost > ruleCostMax) report(fieldForbidden(at, costWords(`estimated ${name} cost`, cost, ruleCostMax)))
    this.#cost += cost
    // As upstream: the four most expensive ones, if they are at least a hundredth of the limit.
    if (cost < versionRuleCostMax / 100) return
    this.#expensive.push({ at, cost })
    this.#expensive = this.#expensive.toSorted((a, b) => b.cost - a.cost).slice(0, EXPENSIVE_SHOWN_MAX)
  }
}

const EXPENSIVE_SHOWN_MAX = 4

function keyOf({ rule, messageExpression, optionalOldSelf }: ValidationRule, schema: Path): string {
  return JSON.stringify([spellPath(schema), rule, messageExpression, optionalOldSelf])
}

type CompiledExpression = Extract<Compiled, { readonly kind: 'compiled' }>

function isSchema(schema: Structural['additional']): schema is Structural {
  return typeof schema === 'object' && schema !== null
}
