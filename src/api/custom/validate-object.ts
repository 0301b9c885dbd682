import { Findings } from '../errors/findings.ts'
import type { Finding } from '../errors/field-error.ts'
import { objectMember, textMember, textsMember } from '../json.ts'
import type { JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { StepBudget } from '../step-budget.ts'
import { customLimits } from './limits.ts'
import { evaluateRules } from './rules/evaluate-rules.ts'
import type { Replaced } from './rules/evaluate-rules.ts'
import type { RuleNode } from './rules/rule-tree.ts'
import type { Structural } from './structural.ts'
import { UnchangedValues } from './unchanged-values.ts'
import { repeatsElements, validateCustom } from './validate-custom.ts'
import type { ValidationSinks } from './validate-custom.ts'

/** The object that an update replaces. */
export type ReplacedObject = {
  readonly object: JsonObject
  /** Receives the errors in values that the update leaves as they were. */
  readonly tolerated: Findings
}

export type ValidatedBy = {
  readonly root: Structural
  /** null: the schema has no rules. */
  readonly rules: () => RuleNode | null
}

/**
 * Validates an object against the schema of its definition, and then by its rules.
 *
 * @param replaced null: the object is new
 * @param work shared by all checks against the schema
 * @source apiextensions `pkg/registry/customresource/{strategy,validator}.go`
 */
export function validateObject(
  { root, rules }: ValidatedBy,
  object: JsonObject,
  replaced: ReplacedObject | null,
  found: Findings,
  work = new StepBudget(customLimits.validationStepsMax),
): void {
  const change = replaced === null ? null : changeOf(root, object, replaced, work)
  let sinks = newSinks(new Findings())
  let isComplete = validateCustom(root, object, sinks, work)
  if (change !== null && isComplete && sinks.values.count > 0) {
    // Most objects have no errors, so only few are compared with the objects that they replace.
    sinks = newSinks(new ToleratingFindings(change))
    isComplete = validateCustom(root, object, sinks, work)
  }
  const { values, lists, others } = sinks
  found.merge(values)
  found.merge(others)
  if (lists.count > 0) {
    // As upstream: an object that repeated elements before may still do so.
    const isOld = replaced !== null && repeatsElements(root, replaced.object, found, work)
    const sink = isOld ? replaced.tolerated : found
    sink.merge(lists)
  }
  if (!isComplete) return
  const tree = rules()
  if (tree === null) return
  if (found.list.some(isBlocking)) found.add(RULES_NOT_CHECKED)
  else {
    const sink = change !== null && isFinalized(object, change) ? change.tolerated : found
    evaluateRules(tree, object, change, sink)
  }
}

/**
 * Returns whether an update removes finalizers of an object that is being deleted, and changes
 * nothing outside of the metadata. Such an update does not fail for any rule, or the object could
 * never be deleted.
 */
function isFinalized(object: JsonObject, { object: before, isUnchanged }: Replaced): boolean {
  const metadata = objectMember(before, 'metadata')
  if (textMember(metadata, 'deletionTimestamp') === '') return false
  const left = new Set(textsMember(objectMember(object, 'metadata'), 'finalizers'))
  const isAnyRemoved = textsMember(metadata, 'finalizers').some((finalizer) => !left.has(finalizer))
  return isAnyRemoved && isUnchanged(null)
}

function changeOf(
  root: Structural,
  object: JsonObject,
  replaced: ReplacedObject,
  work: StepBudget,
): Replaced {
  let unchanged: UnchangedValues | null = null
  return {
    ...replaced,
    isUnchanged: (at) => {
      unchanged ??= new UnchangedValues(root, object, replaced.object, (steps) => work.spend(steps, null))
      return unchanged.has(at)
    },
  }
}

function newSinks(values: Findings): ValidationSinks {
  return { values, lists: new Findings(), others: new Findings() }
}

/** Adds the errors of unchanged values to `tolerated` instead. */
class ToleratingFindings extends Findings {
  readonly #change: Replaced

  constructor(change: Replaced) {
    super()
    this.#change = change
  }

  override add(finding: Finding | null): void {
    const { isUnchanged, tolerated } = this.#change
    if (finding !== null && isPath(finding.field) && isUnchanged(finding.field)) tolerated.add(finding)
    else super.add(finding)
  }
}

function isPath(field: Finding['field']): field is Path | null {
  return typeof field !== 'string'
}

/** With these errors, values may not have the types that expressions were compiled for. */
function isBlocking({ reason }: Finding): boolean {
  return BLOCKING.has(reason)
}

const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

const RULES_NOT_CHECKED: Finding = {
  reason: 'FieldValueInvalid',
  field: '<nil>',
  words: 'Invalid value',
  value: { of: 'null' },
  detail:
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
}
