import { isConditionTrue, setCondition } from '../../api/metadata/conditions.ts'
import type { Condition } from '../../api/metadata/conditions.ts'
import { objectMember, objectsMember } from '../../api/json.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/**
 * Condition types of a definition.
 *
 * @source apiextensions/v1 CustomResourceDefinitionConditionType
 */
export type DefinitionConditionType =
  | 'Established'
  | 'NamesAccepted'
  | 'NonStructuralSchema'
  | 'Terminating'
  | 'KubernetesAPIApprovalPolicyConformant'

export type DefinitionCondition = Condition & { readonly type: DefinitionConditionType }

/** Returns whether there is a condition of that type with status True. */
export function isTrue(definition: AnyObject, type: DefinitionConditionType): boolean {
  return isConditionTrue(objectsMember(objectMember(definition, 'status'), 'conditions'), type)
}

/**
 * Returns the definition with that condition, replacing the one of the same type; the identical one
 * if the condition does not change.
 *
 * @param now RFC 3339; the transition time, if the status changes
 */
export function withCondition(definition: AnyObject, given: DefinitionCondition, now: string): AnyObject {
  const status = objectMember(definition, 'status')
  const before = objectsMember(status, 'conditions')
  const conditions = setCondition(before, given, now)
  return conditions === before ? definition : { ...definition, status: { ...status, conditions } }
}
