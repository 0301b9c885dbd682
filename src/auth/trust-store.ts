import type { TrustBundle } from '../pki/trust-bundle.ts'
import type { Purpose } from '../pki/verify-chain.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'
import type { MemberKeys } from '../pki/member-keys.ts'

/** By purpose; null: nobody is vouched for. */
export type TrustBundles = { readonly [purpose in Purpose]: TrustBundle | null }

/** The bundles in force. What was verified by another bundle than the one in force has to be verified again. */
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

/** Who vouches for the callers of the client port. @throws PkiFailure not for keys that were read as above */
export function trustOf({ server: { clientAuthorities } }: MemberKeys): TrustBundles {
  const client = clientAuthorities === null ? null : readTrustBundle(clientAuthorities)
  return { client, 'front-proxy': null }
}
