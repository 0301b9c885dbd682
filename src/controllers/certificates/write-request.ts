import type { Catalog } from '../../registry/kinds/catalog.ts'
import { apiVersionOf } from '../../registry/kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { objectMember, objectsMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { LocalClient } from '../../registry/local-client.ts'
import type { Key } from '../../store/key.ts'
import { partsOf } from '../../store/key.ts'
import type { Reconciled } from '../controller.ts'
import type { EventSubject } from '../event-object.ts'
import type { EventRecorder } from '../event-recorder.ts'
import { isLostRace } from '../lost-race.ts'

/** The dependencies with which the certificate controllers read and write requests. */
export type RequestAccess = {
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly events: Pick<EventRecorder, 'record'>
}

export function requestDefinition({ names, catalog }: RequestAccess): ResourceDefinition | null {
  return catalog.find(names.group('certificates'), 'v1', 'certificatesigningrequests')
}

/** Reads the most recent version. @returns null: there is no such request, or no such kind */
export async function readRequest(access: RequestAccess, key: Key): Promise<AnyObject | null> {
  const definition = requestDefinition(access)
  if (definition === null) return null
  return access.client.get(definition, { namespace: null, name: partsOf(key).name, subresource: null })
}

/** The step that a controller took for a request, or why it took no step; see `EventText`. */
export type RequestEvent =
  | { readonly type: 'Normal'; readonly reason: 'CertificateApproved'; readonly message: string }
  | { readonly type: 'Normal'; readonly reason: 'CertificateIssued'; readonly message: string }
  | { readonly type: 'Normal'; readonly reason: 'CertificateRequestRemoved'; readonly message: string }
  | { readonly type: 'Warning'; readonly reason: 'CertificateNotApproved'; readonly message: string }
  | { readonly type: 'Warning'; readonly reason: 'CertificateFailed'; readonly message: string }

/** Records an event about a request. */
export function recordEvent(access: RequestAccess, object: AnyObject, event: RequestEvent): void {
  const definition = requestDefinition(access)
  if (definition === null) return
  const { name = '', uid = '' } = object.metadata
  const about: EventSubject = {
    ...{ apiVersion: apiVersionOf(definition), kind: definition.kind },
    ...{ namespace: '', name, uid },
  }
  access.events.record(about, event)
}

/**
 * Writes the decision or the result of a request. The write has a precondition on the version that
 * was judged, so it never overwrites a write of another leader or approver. Records `event` after
 * the write.
 */
export async function writeRequest(
  access: RequestAccess,
  object: AnyObject,
  { subresource, event }: { readonly subresource: 'approval' | 'status'; readonly event: RequestEvent },
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
  recordEvent(access, object, event)
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
