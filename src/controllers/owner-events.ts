import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { apiVersionOf } from '../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import type { OwnerReference } from '../registry/kinds/owner-reference.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf } from '../store/key.ts'
import type { View } from '../store/object-store.ts'
import { eventName, eventNamespace, newEvent } from './event-object.ts'

/** A dependent and a reference of it that cannot be followed. */
export type InvalidOwner = {
  readonly definition: ResourceDefinition
  /** Empty: the dependent is cluster-scoped. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly owner: OwnerReference
}

/**
 * Whether the event about a reference is stored. Its name is the same on every leader, so a
 * reference has one event until that expires.
 */
export function isReported(view: View, about: Omit<InvalidOwner, 'definition'>): boolean {
  const name = eventName(about, identityOf(about))
  return view.get(keyOf({ group: '', plural: 'events', namespace: eventNamespace(about), name })) !== null
}

function identityOf({ uid, owner }: Omit<InvalidOwner, 'definition'>): string {
  return `${uid} ${owner.uid}`
}

/**
 * Stores an event about an owner that is not in the namespace of its dependent.
 *
 * @throws ApiError
 * @source upstream `pkg/controller/garbagecollector/graph_builder.go`,
 * reportInvalidNamespaceOwnerRef
 */
export async function reportInvalidOwner(
  {
    catalog,
    client,
    clock,
  }: { readonly catalog: Catalog; readonly client: LocalClient; readonly clock: Clock },
  about: InvalidOwner,
): Promise<void> {
  const events = catalog.find('', 'v1', 'events')
  if (events === null) return
  const { definition, namespace, owner } = about
  const reference =
    `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, ` +
    `uid: ${owner.uid}]`
  const message = `ownerRef ${reference} does not exist in namespace ${JSON.stringify(namespace)}`
  const event = newEvent(
    { ...about, kind: definition.kind, apiVersion: apiVersionOf(definition) },
    { type: 'Warning', reason: 'OwnerRefInvalidNamespace', message },
    { identity: identityOf(about), component: 'garbage-collector-controller', wallMs: clock.wallMs() },
  )
  try {
    await client.create(events, eventNamespace(about), event)
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.code === 'AlreadyExists')) throw cause
  }
}
