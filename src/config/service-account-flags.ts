import { ConfigError } from './errors.ts'
import { custom, duration, list, text, toggle } from './flag.ts'

/** Flags of service account tokens, under upstream's names. */
export const serviceAccountFlags = {
  'service-account-key-file': list(
    [],
    'FILE,…',
    'Keys (PEM) that verify service account tokens: public keys, private keys or certificates, ECDSA P-256 or RSA. Unset: the key of the client port. The keys that sign verify, too, and so do the shared keys.',
  ),
  'service-account-signing-key-file': text(
    '',
    'FILE',
    'Key (PEM) that signs service account tokens, the same on every member: a private key, ECDSA P-256 or RSA. Unset: a key that the members create, share encrypted and rotate (orchctl keys).',
  ),
  'service-account-private-key-file': text(
    '',
    'FILE',
    'Key (PEM) that signs the tokens of Secrets, the same on every member. Unset: the key that signs the other tokens.',
  ),
  'service-account-issuer': custom<readonly string[]>({
    fallback: [],
    placeholder: 'URL,…',
    help: 'Issuers of service account tokens that this server accepts; the first one issues. Unset: https://orch.default.svc.cluster.local, in the domain k8s.io https://kubernetes.default.svc.cluster.local.',
    parse: (values) => values.flatMap((value) => value.split(',')).map(checkIssuer),
  }),
  'service-account-jwks-uri': custom<string>({
    fallback: '',
    placeholder: 'URL',
    help: 'URL of the keys in the discovery document of the issuer, for programs that cannot use the address of this server. Unset: /openid/v1/jwks of this server.',
    parse: (values) => checkKeySetUrl(values.at(-1) ?? ''),
  }),
  'root-ca-file': text(
    '',
    'FILE',
    'CA certificates (PEM) that verify the servers, for Secrets with service account tokens and for the ConfigMaps that Pods and joining nodes read. Unset: the CA certificates that verify clients, if they verify the certificate of the client port.',
  ),
  'api-audiences': list(
    [],
    'AUDIENCE,…',
    'Audiences of this server: a service account token needs one of them. Unset: the issuers.',
  ),
  'service-account-lookup': toggle(
    true,
    'Check that the Secret and the account of a token that is stored in a Secret exist. Bound tokens are always checked.',
  ),
  'service-account-max-token-expiration': duration(
    0,
    { minMs: 0, maxMs: 2 ** 32 * 1000 },
    'Longest lifetime of a service account token, at least 1h; a longer one is shortened, with a warning. 0: the limit of the API, 2^32 seconds.',
  ),
  'service-account-extend-token-expiration': toggle(
    false,
    'Let tokens that Pods get by default be valid for a year, for clients that do not read them again. Upstream has true.',
  ),
} as const

const hourMs = 3_600_000

/** @param wrong throws the error */
export function checkServiceAccounts(maxExpirationMs: number, wrong: (message: string) => never): void {
  if (maxExpirationMs === 0 || maxExpirationMs >= hourMs) return
  wrong('--service-account-max-token-expiration must be at least 1h, or 0 for no limit of this cluster')
}

function checkKeySetUrl(url: string): string {
  if (URL.canParse(url) && new URL(url).protocol === 'https:') return url
  throw new ConfigError('must be a URL that begins with https://')
}

/** An issuer with a colon is a URL, as upstream. */
function checkIssuer(issuer: string): string {
  if (issuer === '') throw new ConfigError('must not be empty')
  if (issuer.includes(':') && !URL.canParse(issuer)) {
    throw new ConfigError(`must be a URL when it has a colon, not ${JSON.stringify(issuer)}`)
  }
  return issuer
}
