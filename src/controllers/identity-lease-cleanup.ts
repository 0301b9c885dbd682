import type { Clock } from '../../base/clock.ts'
import type { NodeId } from '../../raft/index.ts'
import { numberMember, objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { parseTimeMs } from '../api/metadata/time.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { Informer } from '../registry/informer.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { identityLeaseName, leasesDefinition } from './identity-lease.ts'
import { isLostRace } from './lost-race.ts'
import { periodicController } from './periodic-controller.ts'
import type { PeriodicController } from './periodic-controller.ts'

export type IdentityLeaseCleanupDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** The leases with the label of identities: when each expires. */
  readonly leases: Informer<LeaseEnd>
  /** Returns the members of the configuration that this member has applied. */
  readonly members: () => readonly NodeId[]
  readonly onError: (key: string, cause: unknown) => void
}

/** Wall-clock time in ms from which on a lease is expired. */
export type LeaseEnd = number

/** Whether a lease is the identity of an API server, whatever member it belongs to. */
export function isIdentityLease(
  { identity }: Pick<Names, 'identity'>,
  labels: Readonly<Record<string, string>> | null | undefined,
): boolean {
  return labels?.[identity.label] === identity.component
}

/** A lease without a renewal or a duration is expired, as upstream. */
export function leaseEnd(lease: AnyObject): LeaseEnd {
  const spec = objectMember(lease, 'spec')
  const renewedMs = parseTimeMs(textMember(spec, 'renewTime'))
  const seconds = numberMember(spec, 'leaseDurationSeconds')
  return renewedMs === null || seconds === null ? -Infinity : renewedMs + seconds * 1000
}

/**
 * Deletes the identity leases of former members, and those of other members once they expire. A
 * member that was stopped for long creates its lease again when it serves.
 *
 * @source upstream `pkg/controlplane/controller/apiserverleasegc`, which only looks at the expiry
 */
export function identityLeaseCleaner(dependencies: IdentityLeaseCleanupDependencies): PeriodicController {
  const { clock, names, leases, members, onError } = dependencies
  const due = function* (): Generator<Key, void> {
    const current = new Set(members().map((id) => identityLeaseName(names, id)))
    const nowMs = clock.wallMs()
    for (const [key, endMs] of leases.entries())
      if (endMs <= nowMs || !current.has(partsOf(key).name)) yield key
  }
  const controller = new Controller({
    ...{ clock, onError, keys: due },
    reconcile: (key) => reconcile(dependencies, key as Key),
  })
  return periodicController(controller, { clock, due })
}

/** Decides by the newest version: the lease may have been renewed in the meantime. */
async function reconcile(
  { clock, names, catalog, client, members }: IdentityLeaseCleanupDependencies,
  key: Key,
): Promise<Reconciled> {
  const definition = leasesDefinition(names, catalog)
  if (definition === null) return { kind: 'done' }
  const { namespace, name } = partsOf(key)
  const target = { namespace, name, subresource: null }
  const lease = await client.get(definition, target)
  if (lease === null || !isIdentityLease(names, lease.metadata.labels)) return { kind: 'done' }
  const isCurrent = members().some((id) => identityLeaseName(names, id) === name)
  if (isCurrent && leaseEnd(lease) > clock.wallMs()) return { kind: 'done' }
  try {
    await client.delete(definition, target, lease)
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}
