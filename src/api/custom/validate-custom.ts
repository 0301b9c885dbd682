import { invalid, required } from '../errors/field-error.ts'
import type { Finding } from '../errors/field-error.ts'
import { Findings } from '../errors/findings.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonList, isJsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { listIndex, member } from '../schema/path.ts'
import { StepBudgetExceeded } from '../step-budget.ts'
import type { StepBudget } from '../step-budget.ts'
import type { Structural, ValueRules } from './structural.ts'
import { checkShapes } from './value-shapes.ts'
import {
  checkCount,
  checkEnum,
  checkMemberCount,
  checkNumber,
  checkText,
  wrong,
  wrongType,
} from './value-rules.ts'
import { allowedTypes, isOfType, typeOfValue } from './value-type.ts'

export type ValidationSinks = {
  /** Errors of single values. */
  readonly values: Findings
  /** Errors of sets and lists of type map, such as repeated elements. */
  readonly lists: Findings
  /** All other errors. */
  readonly others: Findings
}

/**
 * Validates an object against the schema of its definition: types, rules for values, junctors,
 * distinct elements of sets and maps, and embedded objects.
 *
 * @param object as `conformCustom` and `defaultCustom` leave it
 * @param work shared by all checks of one request
 * @returns whether it was checked completely; if the step limit ended the check, the last finding
 * reports that
 */
export function validateCustom(
  root: Structural,
  object: JsonObject,
  sinks: ValidationSinks,
  work: StepBudget,
): boolean {
  return bounded(sinks.others, () => {
    check(root, object, null, sinks.values, work)
    checkShapes({ ...root, embedded: false }, object, null, {
      findings: sinks.others,
      lists: sinks.lists,
      work,
    })
  })
}

/**
 * Returns whether a list of an object repeats an element that must be unique.
 *
 * @param found receives a finding if the step limit ended the check
 */
export function repeatsElements(
  root: Structural,
  object: JsonObject,
  found: Findings,
  work: StepBudget,
): boolean {
  const lists = new Findings()
  bounded(found, () => {
    checkShapes({ ...root, embedded: false }, object, null, { findings: new Findings(), lists, work })
  })
  return lists.count > 0
}

/**
 * Validates a value inside an object, such as a default, in the same way.
 *
 * @param at path that errors report
 */
export function validateValue(
  node: Structural,
  value: Json,
  at: Path,
  { findings, work }: { readonly findings: Findings; readonly work: StepBudget },
): void {
  bounded(findings, () => {
    check(node, value, at, findings, work)
    checkShapes(node, value, at, { findings, lists: findings, work })
  })
}

/** @returns whether the check ended within its budget */
function bounded(findings: Findings, go: () => void): boolean {
  try {
    go()
    return true
  } catch (error) {
    if (!(error instanceof StepBudgetExceeded)) throw error
    findings.add(error.finding)
    return false
  }
}

function check(node: Structural, value: Json, at: Path | null, findings: Findings, work: StepBudget): void {
  work.spend(1, at)
  if (findings.isFull) return
  const { rules } = node
  findings.add(checkType(node, value, at))
  checkEnum(rules, value, at, findings, work)
  if (value === null) return
  if (rules.hasJunctors) checkJunctors(rules, value, at, findings, work)
  if (typeof value === 'string') checkText(rules, value, at, findings, work)
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(rules, value, at, findings)
  else if (isJsonList(value)) checkList(node, value, at, findings, work)
  else if (isJsonObject(value)) checkObject(node, value, at, findings, work)
}

function checkType(node: Structural, value: Json, at: Path | null): Finding | null {
  if (node.type === '' && !node.intOrString) return null
  const types = allowedTypes(node)
  const type = typeOfValue(value)
  if (isOfType(types, type) || (type === 'null' && node.nullable)) return null
  return wrongType(at, types.join(','), type)
}

function checkList(
  node: Structural,
  list: readonly Json[],
  at: Path | null,
  findings: Findings,
  work: StepBudget,
): void {
  const { items, rules } = node
  if (items !== null) list.forEach((item, index) => check(items, item, listIndex(at, index), findings, work))
  checkCount(rules, list.length, at, findings)
}

function checkObject(
  node: Structural,
  object: JsonObject,
  at: Path | null,
  findings: Findings,
  work: StepBudget,
): void {
  const { rules, properties, additional } = node
  const names = Object.keys(object)
  work.spend(names.length, at)
  const miscounted = checkMemberCount(rules, names.length, at)
  findings.add(miscounted)
  // As upstream: other errors of the object are reported only if the number of members is right.
  if (miscounted !== null) return
  for (const name of names) {
    const schema = properties.get(name) ?? additional
    if (schema === null || schema === true) continue
    if (schema === false) findings.add(wrong(member(at, name), name, () => 'is a forbidden property'))
    else check(schema, object[name] as Json, member(at, name), findings, work)
  }
  work.spend(rules.required.length, at)
  for (const name of rules.required) {
    findings.add(Object.hasOwn(object, name) ? null : required(member(at, name)))
  }
}

function checkJunctors(
  rules: ValueRules,
  value: Json,
  at: Path | null,
  findings: Findings,
  work: StepBudget,
): void {
  const tried = (node: Structural): Findings => {
    const found = new Findings()
    check(node, value, at, found, work)
    // Findings are made, and merged into those around them.
    work.spend(found.count * STEPS_A_FINDING, at)
    return found
  }
  const say = (words: string): void => {
    // The error is about the schema, but the path of the field helps more.
    findings.add(invalid(at, '', (field) => `${JSON.stringify(field)} ${words}`))
  }
  const { allOf, anyOf, oneOf, not } = rules
  if (anyOf.length > 0 && !meetsOne(anyOf, tried, findings)) say('must validate at least one schema (anyOf)')
  if (oneOf.length > 0) {
    const found = oneOf.map(tried)
    const held = found.filter(isClean)
    if (held.length === 0) {
      say('must validate one and only one schema (oneOf). Found none valid')
      findings.merge(nearest(found))
    } else if (held.length > 1) {
      say(`must validate one and only one schema (oneOf). Found ${held.length} valid alternatives`)
    }
  }
  if (allOf.length > 0) {
    const found = allOf.map(tried)
    for (const one of found) findings.merge(one)
    const broken = found.filter((one) => !isClean(one)).length
    const none = broken === found.length ? '. None validated' : ''
    if (broken > 0) say(`must validate all the schemas (allOf)${none}`)
  }
  if (not !== null && isClean(tried(not))) say('must not validate the schema (not)')
}

const STEPS_A_FINDING = 2

function meetsOne(
  nodes: readonly Structural[],
  tried: (node: Structural) => Findings,
  findings: Findings,
): boolean {
  const found: Findings[] = []
  for (const node of nodes) {
    const one = tried(node)
    if (isClean(one)) return true
    found.push(one)
  }
  findings.merge(nearest(found))
  return false
}

function isClean(found: Findings): boolean {
  return found.count === 0
}

/**
 * Returns the findings of the alternative with the most satisfied rules: it is most likely the one
 * that the author meant.
 *
 * @param found not empty
 */
function nearest(found: readonly Findings[]): Findings {
  return found.reduce((best, one) => (one.held > best.held ? one : best))
}
