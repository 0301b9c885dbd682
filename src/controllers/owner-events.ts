import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { formatTime } from '../api/metadata/time.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { apiVersionOf } from '../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import type { OwnerReference } from '../registry/kinds/owner-reference.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf } from '../store/key.ts'
import type { View } from '../store/object-store.ts'

/** A dependent and a reference of it that cannot be followed. */
export type InvalidOwner = {
  readonly definition: ResourceDefinition
  /** Empty: the dependent is cluster-scoped. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly owner: OwnerReference
}

/** The namespace of events about cluster-scoped objects. */
const clusterEvents = 'default'
/** Longer names of dependents are cut in the names of their events. */
const nameMax = 200

/**
 * Whether the event about a reference is stored. Its name is the same on every leader, so a
 * reference has one event until that expires.
 */
export function isReported(view: View, about: Omit<InvalidOwner, 'definition'>): boolean {
  const namespace = about.namespace || clusterEvents
  return view.get(keyOf({ group: '', plural: 'events', namespace, name: eventName(about) })) !== null
}

function eventName({ name, uid, owner }: Omit<InvalidOwner, 'definition'>): string {
  const hash = createHash('sha256').update(`${uid} ${owner.uid}`).digest('hex')
  return `${name.slice(0, nameMax)}.${hash.slice(0, 16)}`
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
  const { definition, namespace, name, uid, owner } = about
  const time = formatTime(clock.wallMs())
  const reference =
    `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, ` +
    `uid: ${owner.uid}]`
  const place = namespace === '' ? {} : { namespace }
  try {
    await client.create(events, namespace || clusterEvents, {
      ...{ kind: 'Event', apiVersion: 'v1' },
      metadata: { name: eventName(about), namespace: namespace || clusterEvents },
      involvedObject: { kind: definition.kind, apiVersion: apiVersionOf(definition), ...place, name, uid },
      ...{ type: 'Warning', reason: 'OwnerRefInvalidNamespace' },
      message: `ownerRef ${reference} does not exist in namespace ${JSON.stringify(namespace)}`.slice(
        0,
        1024,
      ),
      source: { component: 'garbage-collector-controller' },
      ...{ firstTimestamp: time, lastTimestamp: time, count: 1 },
    })
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.code === 'AlreadyExists')) throw cause
  }
}
