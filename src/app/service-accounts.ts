import { AuthError } from '../auth/errors.ts'
import { serviceAccountsOf } from '../auth/service-accounts/service-accounts.ts'
import type { ServiceAccounts } from '../auth/service-accounts/service-accounts.ts'
import {
  joinedKeys,
  readSigningKey,
  readVerificationKeys,
  tokenKeysOf,
} from '../auth/service-accounts/token-keys.ts'
import type {
  SharedKeySource,
  SigningKey,
  TokenKeys,
  VerificationKey,
} from '../auth/service-accounts/token-keys.ts'
import type { Names } from '../api/metadata/names.ts'
import { KEY_SET_PATH } from '../auth/service-accounts/issuer-documents.ts'
import { clientAddress } from '../config/client-address.ts'
import type { Config } from '../config/config.ts'
import { StartError } from '../config/start-error.ts'
import { PkiError } from '../pki/errors.ts'
import { readTextFile } from '../pki/files.ts'
import { isIssuedBy } from '../pki/issued-by.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { MemberContext } from './context.ts'

export type ServiceAccountsDependencies = {
  readonly store: Pick<ObjectStore, 'view'>
  readonly keys: MemberKeys
  readonly shared: SharedKeySource
}

/**
 * Builds what accepts service account tokens, as the flags configure it.
 *
 * @throws StartError `keys` when a key file cannot be used
 */
export function configuredServiceAccounts(
  { config, names, clock }: Pick<MemberContext, 'config' | 'names' | 'clock'>,
  { store, keys: memberKeys, shared }: ServiceAccountsDependencies,
): ServiceAccounts {
  const keys = joinedKeys(keysOfFiles(config, memberKeys), shared)
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

/** Returns the issuers that are accepted; the first one issues. */
function issuersOf(config: Config, names: Names): readonly string[] {
  const issuers = config['service-account-issuer']
  // The URL that Pods use for this server.
  return issuers.length === 0 ? [`https://${names.namespaceFinalizer}.default.svc.cluster.local`] : issuers
}

function keysOfFiles(config: Config, keys: MemberKeys): TokenKeys {
  const files = config['service-account-key-file']
  const verification = files.flatMap((path) =>
    reading('service-account-key-file', path, () => readVerificationKeys(readTextFile(path), path)),
  )
  const all = files.length === 0 ? serverKey(keys) : verification
  const own = namedKey(config, 'service-account-signing-key-file')
  return tokenKeysOf(all, own, namedKey(config, 'service-account-private-key-file') ?? own)
}

/** @returns null: the flag is not set */
function namedKey(
  config: Config,
  flag: 'service-account-signing-key-file' | 'service-account-private-key-file',
): SigningKey | null {
  const path = config[flag]
  return path === '' ? null : reading(flag, path, () => readSigningKey(readTextFile(path), path))
}

/** Returns the key of the client port, if its type can verify tokens. */
function serverKey({ server }: MemberKeys): readonly VerificationKey[] {
  try {
    return readVerificationKeys(server.key, 'the key of the client port')
  } catch (cause) {
    if (cause instanceof AuthError) return []
    throw cause
  }
}

function reading<T>(flag: keyof Config, path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof AuthError) && !(cause instanceof PkiError)) throw cause
    throw new StartError('keys', `--${flag} ${path}: ${cause.message}`, { cause })
  }
}
