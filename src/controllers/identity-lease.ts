import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { NodeId } from '../../raft/index.ts'
import { objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { formatMicroTime } from '../api/metadata/time.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { Controller } from './controller.ts'
import { isLostRace } from './lost-race.ts'
import { periodicController } from './periodic-controller.ts'
import type { PeriodicController } from './periodic-controller.ts'

export type IdentityLeaseDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly member: { readonly id: NodeId; readonly name: string }
  /** A member that cannot serve does not renew its lease. */
  readonly isReady: () => boolean
  readonly durationSeconds: number
  readonly renewalMs: number
  readonly onError: (cause: unknown) => void
}

/** Longest time between two checks of a member that is not ready, or whose write failed. */
const retryMsMax = 5000
const OWN = 'own lease'

/** Returns the name of a member's lease: the same after a restart, never that of another member. */
export function identityLeaseName({ identity }: Pick<Names, 'identity'>, id: NodeId): string {
  const hash = createHash('sha256').update(String(id)).digest('hex')
  return `${identity.component}-${hash.slice(0, 26)}`
}

export function leasesDefinition(names: Names, catalog: Catalog): ResourceDefinition | null {
  return catalog.find(names.group('coordination'), 'v1', 'leases')
}

/**
 * Keeps the lease that shows other programs that this API server is alive; on every member. The
 * system namespace always exists: it is created with the cluster and cannot be deleted.
 *
 * @source upstream `pkg/controlplane/instance.go`: start-kube-apiserver-identity-lease-controller
 */
export function identityLease(dependencies: IdentityLeaseDependencies): PeriodicController {
  const { clock, names, catalog, client, member, isReady, renewalMs, onError } = dependencies
  const namespace = names.systemNamespace
  const target = { namespace, name: identityLeaseName(names, member.id), subresource: null }
  /** The lease as this process wrote it last, which saves a read. null: it must be read first */
  let written: AnyObject | null = null
  const renew = async (definition: ResourceDefinition): Promise<void> => {
    const stored = written ?? (await client.get(definition, target))
    written = null
    const lease = renewedLease(dependencies, stored)
    written =
      stored === null
        ? await client.create(definition, namespace, lease)
        : await client.update(definition, target, lease)
  }
  const controller = new Controller({
    clock,
    keys: () => [OWN],
    onError: (_, cause) => onError(cause),
    limits: { keysMax: 1, backoffMsMin: 100, backoffMsMax: retryMsMax },
    reconcile: async () => {
      const definition = leasesDefinition(names, catalog)
      if (definition === null) return { kind: 'done' }
      if (!isReady()) return { kind: 'again' }
      try {
        await renew(definition)
      } catch (cause) {
        // It was deleted or changed: read it again.
        if (!isLostRace(cause)) throw cause
        return { kind: 'again' }
      }
      return { kind: 'done' }
    },
  })
  return periodicController(controller, { clock, periodMs: renewalMs, due: () => [OWN] })
}

/** @param stored null: there is no lease yet */
function renewedLease(of: IdentityLeaseDependencies, stored: AnyObject | null): AnyObject {
  const { clock, names, member, durationSeconds } = of
  const now = formatMicroTime(clock.wallMs())
  const holderIdentity = `${member.name}_${member.id}`
  const previous = objectMember(stored ?? {}, 'spec')
  const isHeld = textMember(previous, 'holderIdentity') === holderIdentity
  const acquireTime = isHeld ? textMember(previous, 'acquireTime') || now : now
  const { component, label } = names.identity
  const metadata = stored?.metadata ?? { name: identityLeaseName(names, member.id) }
  return {
    ...(stored ?? {}),
    ...{ kind: 'Lease', apiVersion: `${names.group('coordination')}/v1` },
    metadata: { ...metadata, labels: { ...metadata.labels, [label]: component } },
    spec: {
      ...previous,
      ...{ holderIdentity, acquireTime, renewTime: now, leaseDurationSeconds: durationSeconds },
    },
  }
}
