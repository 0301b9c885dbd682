import type { JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { newCheckBudget } from './check-budget.ts'
import type { CheckBudget } from './check-budget.ts'
import { checkDefaults } from './check-defaults.ts'
import { checkKeywords } from './check-keywords.ts'
import { checkRoot } from './check-root.ts'
import { checkExpressions } from './rules/check-expressions.ts'
import { checkRuleDefaults } from './rules/check-rule-defaults.ts'
import { checkSize } from './check-size.ts'
import { checkStructure } from './check-structure.ts'
import { Findings } from '../errors/findings.ts'
import { readStructural } from './structural.ts'
import type { MarkerNames } from './structural.ts'

export type CheckOptions = {
  /**
   * Whether the version has a status subresource, which limits the keywords of the root schema; see
   * `checkRoot`.
   */
  readonly statusSubresource: boolean
  /** Shared by all versions of a definition. Unset: there is only this one. */
  readonly budget?: CheckBudget
  /** The schema that an update replaces. Unset: there is none. */
  readonly before?: JsonObject
}

/** Checks all rules for the schema of a definition; see `checkStructural`. */
export function checkSchema(
  json: JsonObject,
  at: Path,
  markers: MarkerNames,
  { statusSubresource, before, budget = newCheckBudget() }: CheckOptions,
  found: Findings,
): void {
  const findings = new Findings()
  // A schema that is too large is not processed further.
  if (checkSize(json, at, budget, findings))
    checkRules(json, at, { markers, statusSubresource, before, budget, findings })
  found.merge(findings)
}

type RulesCheck = {
  readonly markers: MarkerNames
  readonly statusSubresource: boolean
  readonly before: JsonObject | undefined
  readonly budget: CheckBudget
  readonly findings: Findings
}

function checkRules(json: JsonObject, at: Path, options: RulesCheck): void {
  const { statusSubresource, before, budget, ...check } = options
  const { markers, findings } = check
  checkRoot(json, at, markers, statusSubresource, findings)
  const root = readStructural(json, markers)
  checkStructure(root, at, check)
  checkKeywords(json, at, { isRoot: true, insideMeta: false, noDefaults: null }, check)
  // Defaults are checked against the schema, so the schema must be valid first.
  if (findings.count === 0) checkDefaults(root, at, budget.work, findings)
  if (findings.count > 0) return
  const old = before === undefined ? null : readStructural(before, markers)
  checkExpressions(root, at, { marker: markers.validations, budget, before: old }, findings)
  if (findings.count === 0) checkRuleDefaults(root, at, { budget, before: old }, findings)
}
