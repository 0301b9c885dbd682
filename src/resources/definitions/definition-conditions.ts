import { equalJson, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { AnyObject } from '../../registry/definition.ts'

/** What is or is not so of a definition. @source apiextensions/v1 CustomResourceDefinitionConditionType */
export type DefinitionConditionType =
  | 'Established'
  | 'NamesAccepted'
  | 'NonStructuralSchema'
  | 'Terminating'
  | 'KubernetesAPIApprovalPolicyConformant'

export type DefinitionCondition = {
  readonly type: DefinitionConditionType
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase, for programs. */
  readonly reason: string
  /** For people. */
  readonly message: string
}

/** Whether a condition of that type is there and true. */
export function isTrue(definition: AnyObject, type: DefinitionConditionType): boolean {
  const status = conditionOf(definition, type)?.['status']
  return status === 'True'
}

/** @returns undefined: nothing is known of it */
export function conditionOf(definition: AnyObject, type: DefinitionConditionType): JsonObject | undefined {
  const conditions = objectsMember(objectMember(definition, 'status'), 'conditions')
  return conditions.find((condition) => textMember(condition, 'type') === type)
}

/**
 * The definition with that condition instead of the one it had of that type; the same one where it says so already.
 *
 * @param now RFC 3339; when it became so, where its status is another one than before
 */
export function withCondition(definition: AnyObject, said: DefinitionCondition, now: string): AnyObject {
  const before = conditionOf(definition, said.type)
  const since = before?.['status'] === said.status ? before['lastTransitionTime'] : undefined
  const { type, status, reason, message } = said
  const condition: JsonObject = { type, status, lastTransitionTime: since ?? now, reason, message }
  if (equalJson(before, condition)) return definition
  const of = objectMember(definition, 'status')
  const others = objectsMember(of, 'conditions')
  const conditions =
    before === undefined
      ? [...others, condition]
      : others.map((other) => (other === before ? condition : other))
  return { ...definition, status: { ...of, conditions } }
}
