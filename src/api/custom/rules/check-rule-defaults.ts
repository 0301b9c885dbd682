import { CelBudget } from '../../cel/budget.ts'
import { jsonText } from '../../codec/json-text.ts'
import { Findings } from '../../errors/findings.ts'
import type { Json } from '../../json.ts'
import { mapKey, member, spellPath } from '../../schema/path.ts'
import type { Path } from '../../schema/path.ts'
import { StepBudget } from '../../step-budget.ts'
import { filledDefault } from '../default-custom.ts'
import { customLimits } from '../limits.ts'
import type { Structural } from '../structural.ts'
import { evaluateDefault } from './evaluate-rules.ts'
import { compileRules } from './rule-tree.ts'
import type { RuleNode } from './rule-tree.ts'

/** The remaining budget for evaluating rules on defaults. */
export type DefaultsBudget = { readonly ruleCost: CelBudget; readonly work: StepBudget }

export type RuleDefaultsCheck = {
  readonly budget: DefaultsBudget
  /** The schema that an update replaces: its broken defaults may stay. null: there is none. */
  readonly before: Structural | null
}

/**
 * Evaluates the rules of each schema on its default. Like upstream, it does not check defaults
 * inside of `additionalProperties`. A default has no old value, so transition rules are skipped.
 *
 * @param root has passed all other checks
 * @source apiextensions `pkg/apiserver/schema/defaulting/validation.go`
 */
export function checkRuleDefaults(
  root: Structural,
  at: Path,
  { budget, before }: RuleDefaultsCheck,
  findings: Findings,
): void {
  const broken = brokenDefaults(root, at, budget)
  if (broken.length === 0) return
  const old = before === null ? [] : brokenDefaults(before, at, newBudget())
  const known = new Set(old.map(({ key }) => key))
  for (const { key, found } of broken) if (!known.has(key)) findings.merge(found)
}

function newBudget(): DefaultsBudget {
  const { writeRuleCostMax, writeRuleStepsMax, validationStepsMax } = customLimits
  return {
    ruleCost: new CelBudget(writeRuleCostMax, writeRuleStepsMax),
    work: new StepBudget(validationStepsMax),
  }
}

type Broken = {
  /** Equal for the same default with the same rules. */
  readonly key: string
  readonly found: Findings
}

function brokenDefaults(root: Structural, at: Path, budget: DefaultsBudget): readonly Broken[] {
  const tree = root.holdsDefaults ? compileRules(root) : null
  const broken: Broken[] = []
  if (tree !== null) visitInside(tree, at, budget, broken)
  return broken
}

function visit(node: RuleNode, at: Path, budget: DefaultsBudget, broken: Broken[]): void {
  if (node.schema.default !== null) {
    const value = filledDefault(node.schema)
    const found = new Findings(budget.work)
    evaluateDefault(node, { value, at: member(at, 'default') }, budget.ruleCost, found)
    if (found.count > 0) broken.push({ key: jsonText([spellPath(at), value, rulesOf(node)]), found })
  }
  visitInside(node, at, budget, broken)
}

function visitInside(node: RuleNode, at: Path, budget: DefaultsBudget, broken: Broken[]): void {
  if (!node.schema.holdsDefaults) return
  if (node.items !== null) visit(node.items, member(at, 'items'), budget, broken)
  for (const [name, property] of node.properties) {
    visit(property, mapKey(member(at, 'properties'), name), budget, broken)
  }
  for (const part of node.allOf) visitInside(part, at, budget, broken)
}

/** Returns the texts of all rules of a node and inside of it. */
function rulesOf({ rules, properties, additional, items, allOf }: RuleNode): Json {
  return [
    rules.map(({ rule }) => rule.rule),
    [...properties].map(([name, node]) => [name, rulesOf(node)]),
    ...[additional, items].map((node) => (node === null ? null : rulesOf(node))),
    allOf.map(rulesOf),
  ]
}
