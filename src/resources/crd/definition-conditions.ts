import { isConditionTrue, setCondition } from '../../api/metadata/conditions.ts'
import type { Condition } from '../../api/metadata/conditions.ts'
import { objectMember, objectsMember } from '../../api/json.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/**
 * What is or is not so of a definition.
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

/** Whether a condition of that type is there and true. */
export function isTrue(definition: AnyObject, type: DefinitionConditionType): boolean {
  return isConditionTrue(objectsMember(objectMember(definition, 'status'), 'conditions'), type)
}

/**
 * The definition with that condition instead of the one it had of that type; the same one where it
 * says so already.
 *
 * @param now RFC 3339; when it became so, where its status is another one than before
 */
export function withCondition(definition: AnyObject, said: DefinitionCondition, now: string): AnyObject {
  const status = objectMember(definition, 'status')
  const before = objectsMember(status, 'conditions')
  const conditions = setCondition(before, said, now)
  return conditions === before ? definition : { ...definition, status: { ...status, conditions } }
}
