import { ConfigError } from './errors.ts'
import { custom, list, toggle } from './flag.ts'

/** Flags of service account tokens, under upstream's names. */
export const serviceAccountFlags = {
  'service-account-key-file': list(
    [],
    'FILE,…',
    'Keys (PEM) that verify service account tokens: public keys, private keys or certificates, ECDSA P-256 or RSA. Unset: the key of the client port.',
  ),
  'service-account-issuer': custom<readonly string[]>({
    fallback: [],
    placeholder: 'URL,…',
    help: 'Issuers of service account tokens that this server accepts; the first one issues. Unset: https://orch.default.svc.cluster.local, in the domain k8s.io https://kubernetes.default.svc.cluster.local.',
    parse: (values) => values.flatMap((value) => value.split(',')).map(checkIssuer),
  }),
  'api-audiences': list(
    [],
    'AUDIENCE,…',
    'Audiences of this server: a service account token needs one of them. Unset: the issuers.',
  ),
  'service-account-lookup': toggle(
    true,
    'Check that the Secret and the account of a token that is stored in a Secret exist. Bound tokens are always checked.',
  ),
} as const

/** An issuer with a colon is a URL, as upstream. */
function checkIssuer(issuer: string): string {
  if (issuer === '') throw new ConfigError('must not be empty')
  if (issuer.includes(':') && !URL.canParse(issuer)) {
    throw new ConfigError(`must be a URL when it has a colon, not ${JSON.stringify(issuer)}`)
  }
  return issuer
}
