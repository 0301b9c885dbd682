import type { TrustBundle } from '../pki/trust-bundle.ts'
import type { Purpose } from '../pki/verify-chain.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'
import type { MemberKeys } from '../pki/member-keys.ts'

/** The authorities by purpose; null: none. */
export type TrustBundles = { readonly [purpose in Purpose]: TrustBundle | null }

/** The current bundles. A verdict of another bundle than the current one may not hold any more. */
export class TrustStore {
  #bundles: TrustBundles

  constructor(bundles: TrustBundles) {
    this.#bundles = bundles
  }

  bundle(purpose: Purpose): TrustBundle | null {
    return this.#bundles[purpose]
  }

  replace(bundles: TrustBundles): void {
    this.#bundles = bundles
  }
}

/**
 * Returns the authorities of clients and of proxies.
 *
 * @param shared certificates (PEM) of the authorities that members share; trusted for clients too
 * @throws PkiError never for keys that `memberKeys` returned
 */
export function trustOf(
  { server: { clientAuthorities, proxyAuthorities } }: MemberKeys,
  shared: string,
): TrustBundles {
  const bundle = (pem: string | null): TrustBundle | null => (pem === null ? null : readTrustBundle(pem))
  const clients = clientAuthorities === null ? null : `${clientAuthorities}\n${shared}`
  return { client: bundle(clients), 'front-proxy': bundle(proxyAuthorities) }
}
