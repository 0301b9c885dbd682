import { identityLease } from '../controllers/identity-lease.ts'
import type { Health } from '../health/health.ts'
import type { Registry } from '../registry/calls/verb.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { LocalClient } from '../registry/local-client.ts'
import type { MemberContext } from './context.ts'
import { callMsMax } from './controllers/controller-parts.ts'
import { serverUser } from './controllers/controller-user.ts'

export type IdentityLeaseParts = {
  readonly registry: Registry
  readonly catalog: Catalog
  readonly health: Health
}

/** Keeps the lease of this API server while the member is ready, unless the feature is disabled. */
export function startIdentityLease(site: MemberContext, parts: IdentityLeaseParts): void {
  const { clock, names, log, config, id, closing } = site
  if (!config['feature-gates'].isOn.APIServerIdentity) return
  const { registry, catalog, health } = parts
  const lease = identityLease({
    ...{ clock, names, catalog },
    client: new LocalClient({ registry, clock, user: serverUser(), timeoutMs: callMsMax }),
    member: { id, name: config.name },
    isReady: () => health.readyz.every(({ failure }) => failure() === null),
    durationSeconds: config['identity-lease-duration-seconds'],
    renewalMs: config['identity-lease-renew-interval-seconds'] * 1000,
    onError: (cause) => log.warn({ err: cause }, 'lease of this API server not renewed yet'),
  })
  lease.start()
  closing.add(() => lease.stop())
}
