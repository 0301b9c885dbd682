import { equalJson } from '../api/json.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { encode, parseStored } from '../registry/kinds/encode.ts'
import type { ReadSet } from '../registry/shared/read-set.ts'
import type { Condition, Operation } from '../store/command.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { PolicyKind } from './policy-capacity.ts'

/** Returns the key prefix of the policies of a kind in a namespace. */
export function policiesPrefix({ plural }: PolicyKind, namespace: string): KeyPrefix {
  return prefixOf({ group: '', plural, namespace })
}

/**
 * Returns the operation that a new policy, or one with another spec, carries in addition: it writes
 * the namespace unchanged, so that the namespace gets a new revision. A member that has not applied
 * the policy yet does not know that revision either, so its writes fail their condition
 * (`whileAnnounced`). The first policy of a namespace needs no such operation: the writes of a
 * member that has not applied it carry the condition that there is no policy.
 */
export function policyAnnouncement(kind: PolicyKind, request: AdmissionRequest): readonly Operation[] {
  const { definition, target, operation, object, oldObject, reads } = request
  const { namespace, subresource } = target
  if (definition.group !== '' || definition.plural !== kind.plural) return []
  if (object === null || namespace === null || subresource !== null) return []
  const isNew = operation === 'CREATE' && reads.listOther(policiesPrefix(kind, namespace)).length > 0
  const isChanged =
    operation === 'UPDATE' && oldObject !== null && !equalJson(object['spec'] ?? {}, oldObject['spec'] ?? {})
  if (!isNew && !isChanged) return []
  const stored = reads.getOther(namespaceKey(namespace))
  if (stored === null) return []
  const { key, revision } = stored
  const conditions: readonly Condition[] = [{ kind: 'revision-is', revision }]
  return [{ kind: 'put', key, conditions, object: encode(parseStored(stored)) }]
}

/** Returns the condition that a namespace is still without policies of a kind. */
export function whileNoPolicy(prefix: KeyPrefix): readonly Condition[] {
  return [{ kind: 'prefix-empty', prefixes: [prefix] }]
}

/**
 * Returns the condition that no policy was added or changed that this member has not applied yet.
 */
export function whileAnnounced(namespace: string, reads: ReadSet): readonly Condition[] {
  const stored = reads.getOther(namespaceKey(namespace))
  if (stored === null) return []
  return [{ kind: 'other-revision-is', key: stored.key, revision: stored.revision }]
}

function namespaceKey(name: string): Key {
  return keyOf({ group: '', plural: 'namespaces', namespace: '', name })
}
