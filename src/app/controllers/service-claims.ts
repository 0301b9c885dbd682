import { claimRepair } from '../../controllers/claim-repair.ts'
import type { ClaimRepairCounts } from '../../controllers/claim-repair.ts'
import { ClaimedServices, claimedServiceOf } from '../../controllers/claimed-services.ts'
import { Informer } from '../../registry/informer.ts'
import { claimsPrefix } from '../../registry/writing/claims.ts'
import { serviceClaims } from '../../resources/services/service-claims.ts'
import type { ServiceRanges } from '../../resources/services/service-ranges.ts'
import { callMsMax, coreInformer } from './controller-parts.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type ServiceClaimsParts = ControllerParts & {
  readonly ranges: ServiceRanges
  /** Read by metrics. */
  readonly claimRepairs: ClaimRepairCounts
}

/** The controllers, and the sets of values that each repairs. */
const sets = {
  'ipallocator-repair-controller': ['ipv4', 'ipv6'],
  'portallocator-repair-controller': ['nodeport'],
} as const

/** Starts the controllers that repair the claims of Services. */
export function startServiceClaims(of: ServiceClaimsParts): readonly Stop[] {
  const { store, clock, ranges, enabled, claimRepairs, log, eventsOf, switched } = of
  const own = ['ipallocator-repair-controller', 'portallocator-repair-controller'] as const
  if (!own.some((name) => enabled.has(name))) return []
  const rules = serviceClaims(ranges)
  const services = coreInformer(of, 'services', (stored) => claimedServiceOf(rules, stored))
  const prefix = claimsPrefix(rules)
  const claims = new Informer({ store, clock, prefix, parse: ({ uid }) => uid })
  const claimed = new ClaimedServices(services, claims)
  const repairing = own.map((name) => {
    const controller = claimRepair({
      ...{ clock, store, ranges, claimed, timeoutMs: callMsMax },
      ...{ sets: sets[name], events: eventsOf(name), counts: claimRepairs },
      onReleased: (value) => log.warn(value, 'released an address or port that no Service has'),
      onError: (claim, cause) => log.warn({ claim, err: cause }, 'claim of a Service not repaired yet'),
    })
    return switched(name, controller)
  })
  services.start()
  claims.start()
  return [() => services.close(), () => claims.close(), ...repairing.flat()]
}
