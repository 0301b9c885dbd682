import type { Catalog } from '../../registry/kinds/catalog.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { objectMember, objectsMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { LocalClient } from '../../registry/local-client.ts'
import type { Key } from '../../store/key.ts'
import { partsOf } from '../../store/key.ts'
import type { Reconciled } from '../controller.ts'
import { isLostRace } from '../lost-race.ts'

/** The client of the certificate controllers. */
export type RequestAccess = {
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
}

export function requestDefinition({ names, catalog }: RequestAccess): ResourceDefinition | null {
  return catalog.find(names.group('certificates'), 'v1', 'certificatesigningrequests')
}

/** Reads the most recent version. @returns null: there is no such request */
export async function readRequest(access: RequestAccess, key: Key): Promise<AnyObject | null> {
  const definition = requestDefinition(access)
  if (definition === null) return null
  return access.client.get(definition, { namespace: null, name: partsOf(key).name, subresource: null })
}

/**
 * Writes the decision or the result of a request, only over the version that the decision is about:
 * a former leader, or another approver, never writes twice.
 */
export async function writeRequest(
  access: RequestAccess,
  object: AnyObject,
  subresource: 'approval' | 'status',
): Promise<Reconciled> {
  const definition = requestDefinition(access)
  if (definition === null) return { kind: 'done' }
  const target = { namespace: null, name: object.metadata.name ?? '', subresource }
  try {
    await access.client.update(definition, target, object)
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}

export function withCondition(
  object: AnyObject,
  condition: { readonly type: 'Approved' | 'Failed'; readonly reason: string; readonly message: string },
): AnyObject {
  const status = objectMember(object, 'status')
  const conditions = [...objectsMember(status, 'conditions'), { ...condition, status: 'True' }]
  return { ...object, status: { ...status, conditions } }
}
