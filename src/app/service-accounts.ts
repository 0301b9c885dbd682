import { serviceAccountsOf } from '../auth/service-accounts/service-accounts.ts'
import type { ServiceAccounts } from '../auth/service-accounts/service-accounts.ts'
import { joinedKeys } from '../auth/service-accounts/token-keys.ts'
import type { SharedKeySource } from '../auth/service-accounts/token-keys.ts'
import type { Names } from '../api/metadata/names.ts'
import { KEY_SET_PATH } from '../auth/service-accounts/issuer-documents.ts'
import { clientAddress } from '../config/client-address.ts'
import type { Config } from '../config/config.ts'
import { readTextFile } from '../pki/files.ts'
import { isIssuedBy } from '../pki/issued-by.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { MemberContext } from './context.ts'
import type { FileTokenKeys } from './file-token-keys.ts'
import { reading } from './file-token-keys.ts'

export type ServiceAccountsDependencies = {
  readonly store: Pick<ObjectStore, 'view'>
  readonly files: FileTokenKeys
  readonly shared: SharedKeySource
}

/** Builds what accepts service account tokens, as the flags configure it. */
export function configuredServiceAccounts(
  { config, names, clock }: Pick<MemberContext, 'config' | 'names' | 'clock'>,
  { store, files, shared }: ServiceAccountsDependencies,
): ServiceAccounts {
  const keys = joinedKeys(files, shared)
  const issuers = issuersOf(config, names)
  return serviceAccountsOf({
    ...{ store, clock, names, issuers },
    keys: () => keys,
    untilSigner: () => shared.untilSigner(),
    untilCurrent: () => shared.untilCurrent(),
    audiences: config['api-audiences'].length === 0 ? issuers : config['api-audiences'],
    looksUpSecretTokens: config['service-account-lookup'],
    keySetUrl: config['service-account-jwks-uri'] || `https://${clientAddress(config)}${KEY_SET_PATH}`,
    expirationSecondsMax: Math.floor(config['service-account-max-token-expiration'] / 1000),
    extendsExpiration: config['service-account-extend-token-expiration'],
  })
}

/**
 * Returns the CA certificates that verify the servers. @returns null: not known
 *
 * @throws StartError `keys` when the file of the flag cannot be used
 */
export function rootCaOf(config: Config, { server }: MemberKeys): string | null {
  const path = config['root-ca-file']
  if (path !== '') {
    return reading('root-ca-file', path, () => {
      const pem = readTextFile(path)
      readTrustBundle(pem)
      return pem
    })
  }
  const { certificate, clientAuthorities } = server
  return clientAuthorities !== null && isIssuedBy(certificate, clientAuthorities) ? clientAuthorities : null
}

/** Returns the issuers that are accepted. The first one issues new tokens. */
function issuersOf(config: Config, names: Names): readonly string[] {
  const issuers = config['service-account-issuer']
  // The URL that Pods use for this server.
  return issuers.length === 0 ? [`https://${names.namespaceFinalizer}.default.svc.cluster.local`] : issuers
}
