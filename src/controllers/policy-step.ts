import { equalJson, memberOf, objectMember, objectsMember, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { rulesIn } from '../registry/kinds/policy-rules.ts'
import type { PolicyRule } from '../registry/kinds/policy-rules.ts'

/** The write after which an object grants at least what is expected. */
export type PolicyStep =
  | { readonly kind: 'create'; readonly object: AnyObject }
  | { readonly kind: 'update'; readonly object: AnyObject }
  /** The role of a binding never changes, so the binding is replaced. */
  | { readonly kind: 'recreate'; readonly object: AnyObject; readonly previous: AnyObject }

export type PolicyStepOptions = {
  /** An object that has it with the value `false` stays as it is. */
  readonly autoupdateAnnotation: string
  /** Returns those of the expected rules that the existing ones do not cover. */
  readonly missingRules: (
    existing: readonly PolicyRule[],
    expected: readonly PolicyRule[],
  ) => readonly PolicyRule[]
}

/**
 * Compares a role or a binding with what is expected. Adds what is missing, and removes nothing
 * that others added, with two exceptions: an aggregation that would replace the rules, and a
 * binding to another role, which is replaced with all its subjects.
 *
 * @param existing null: there is no such object
 * @returns null: nothing is missing
 * @source component-helpers `auth/rbac/reconciliation`
 */
export function policyStep(
  existing: AnyObject | null,
  expected: AnyObject,
  options: PolicyStepOptions,
): PolicyStep | null {
  if (existing === null) return { kind: 'create', object: expected }
  if (existing.metadata.annotations?.[options.autoupdateAnnotation] === 'false') return null
  const role = memberOf(expected, 'roleRef')
  if (role !== undefined && !equalJson(role, memberOf(existing, 'roleRef'))) {
    return { kind: 'recreate', object: expected, previous: existing }
  }
  const changes = {
    ...metadataChanges(existing, expected),
    ...(role === undefined ? roleChanges(existing, expected, options) : subjectChanges(existing, expected)),
  }
  if (Object.keys(changes).length === 0) return null
  return { kind: 'update', object: { ...existing, ...changes } }
}

function metadataChanges(existing: AnyObject, expected: AnyObject): JsonObject {
  const merged = (name: 'labels' | 'annotations'): JsonObject => ({
    ...expected.metadata[name],
    ...existing.metadata[name],
  })
  const labels = merged('labels')
  const annotations = merged('annotations')
  const isSame =
    equalJson(labels, existing.metadata.labels ?? {}) &&
    equalJson(annotations, existing.metadata.annotations ?? {})
  return isSame ? {} : { metadata: { ...existing.metadata, labels, annotations } }
}

function roleChanges(existing: AnyObject, expected: AnyObject, options: PolicyStepOptions): JsonObject {
  // Nearly all roles are as expected, and comparing what rules cover takes much longer.
  const isSame = equalJson(memberOf(existing, 'rules'), memberOf(expected, 'rules'))
  const missing = isSame ? [] : options.missingRules(rulesIn(existing), rulesIn(expected))
  const rules = missing.map((rule) =>
    Object.fromEntries(Object.entries(rule).filter(([, of]) => of.length > 0)),
  )
  return {
    ...(rules.length === 0 ? {} : { rules: [...objectsMember(existing, 'rules'), ...rules] }),
    ...aggregationChanges(existing, expected),
  }
}

function aggregationChanges(existing: AnyObject, expected: AnyObject): JsonObject {
  const wanted = selectorsOf(expected)
  const present = selectorsOf(existing)
  if (wanted.length === 0) return present.length === 0 ? {} : { aggregationRule: null }
  const missing = notIn(present, wanted)
  return missing.length === 0 ? {} : { aggregationRule: { clusterRoleSelectors: [...present, ...missing] } }
}

function selectorsOf(role: AnyObject): readonly JsonObject[] {
  return objectsMember(objectMember(role, 'aggregationRule'), 'clusterRoleSelectors')
}

function subjectChanges(existing: AnyObject, expected: AnyObject): JsonObject {
  const present = objectsMember(existing, 'subjects')
  const missing = objectsMember(expected, 'subjects').filter(
    (subject) => !present.some((other) => isSameSubject(subject, other)),
  )
  return missing.length === 0 ? {} : { subjects: [...present, ...missing] }
}

function isSameSubject(a: JsonObject, b: JsonObject): boolean {
  return ['kind', 'apiGroup', 'name', 'namespace'].every(
    (name) => textMember(a, name) === textMember(b, name),
  )
}

function notIn(present: readonly Json[], wanted: readonly JsonObject[]): readonly JsonObject[] {
  return wanted.filter((one) => !present.some((other) => equalJson(one, other)))
}
