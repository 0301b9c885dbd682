import { ConfigError } from './errors.ts'
import { choice, custom, duration, list, text, toggle } from './flag.ts'

const hourMs = 3_600_000
const keptMs = { minMs: 0, maxMs: 24 * hourMs }

function file(help: string) {
  return text('', 'FILE', help)
}

function reviewVersion(kind: string) {
  return choice(['v1', 'v1beta1'], 'v1beta1', `API version of the ${kind}s that the webhook gets.`)
}

/** Algorithms with a public key. A shared secret is known to every client of the issuer. */
export const OIDC_ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'],
]

function requiredClaimsFlag() {
  return custom<ReadonlyMap<string, string>>({
    fallback: new Map(),
    placeholder: 'KEY=VALUE',
    help: 'Claim that identity tokens must have with this value; may be repeated.',
    parse: (values) =>
      new Map(
        values.map((value) => {
          const at = value.indexOf('=')
          if (at < 1) throw new ConfigError('must be KEY=VALUE')
          return [value.slice(0, at), value.slice(at + 1)]
        }),
      ),
  })
}

/** Flags of authentication and authorization. */
export const accessFlags = {
  'token-auth-file': file('File with bearer tokens: lines of token,user,uid,"group1,group2".'),
  'anonymous-auth': toggle(
    true,
    'Treat requests without credentials as user system:anonymous instead of refusing them. Off with AlwaysAllow.',
  ),
  'authentication-token-webhook-config-file': file(
    'Kubeconfig of a server that authenticates bearer tokens: it gets TokenReviews.',
  ),
  'authentication-token-webhook-cache-ttl': duration(
    120_000,
    keptMs,
    'How long an answer of the token webhook is kept; 0: not at all.',
  ),
  'authentication-token-webhook-version': reviewVersion('TokenReview'),
  'enable-bootstrap-token-auth': toggle(
    false,
    'Authenticate bearer tokens of bootstrap token Secrets, with which nodes join.',
  ),
  'oidc-issuer-url': text(
    '',
    'URL',
    'Issuer of the OpenID Connect tokens that are accepted: an https URL, with the discovery document below it.',
  ),
  'oidc-client-id': text('', 'ID', 'The client that identity tokens must be issued to.'),
  'oidc-ca-file': file(
    'CA certificates (PEM bundle) to verify the issuer. Unset: those that Node.js trusts, and those of NODE_EXTRA_CA_CERTS.',
  ),
  'oidc-username-claim': text('sub', 'CLAIM', 'Claim with the name of the user.'),
  'oidc-username-prefix': text(
    '',
    'PREFIX',
    'Prefix of the names of users; - means no prefix. Unset: the issuer and #, unless the claim is email.',
  ),
  'oidc-groups-claim': text('', 'CLAIM', 'Claim with the groups of the user. Unset: no groups.'),
  'oidc-groups-prefix': text('', 'PREFIX', 'Prefix of the names of groups.'),
  'oidc-required-claim': requiredClaimsFlag(),
  'oidc-signing-algs': list(
    ['RS256'],
    'ALG,…',
    `Algorithms of the signatures of identity tokens: ${OIDC_ALGORITHMS.join(', ')}.`,
  ),
  'requestheader-client-ca-file': file(
    'CA certificates (PEM bundle) of authenticating proxies. Their headers name the user of each request.',
  ),
  'requestheader-allowed-names': list(
    [],
    'NAME,…',
    'Common names that certificates of proxies may have. Unset: all names.',
  ),
  'requestheader-username-headers': list(
    [],
    'HEADER,…',
    'Headers of proxies with the name of the user, such as X-Remote-User; the first with a value counts.',
  ),
  'requestheader-group-headers': list(
    [],
    'HEADER,…',
    'Headers of proxies whose values are groups of the user, such as X-Remote-Group.',
  ),
  'requestheader-extra-headers-prefix': list(
    [],
    'PREFIX,…',
    'Beginning of headers of proxies with extra attributes of the user, such as X-Remote-Extra-.',
  ),
  'authorization-always-allow-paths': list(
    ['/healthz', '/livez', '/readyz'],
    'PATH,…',
    'Paths that every caller may read, whatever the authorizers decide; a final * matches any rest.',
  ),
  'authorization-mode': list(
    ['RBAC'],
    'MODE,…',
    'Authorizers, in order: Node, ABAC, RBAC, Webhook, AlwaysAllow, AlwaysDeny.',
  ),
  'authorization-policy-file': file('Policies of the mode ABAC: one JSON object per line.'),
  'authorization-webhook-config-file': file(
    'Kubeconfig of the server that decides in the mode Webhook: it gets SubjectAccessReviews.',
  ),
  'authorization-webhook-cache-authorized-ttl': duration(
    300_000,
    keptMs,
    'How long a permission from the authorization webhook is kept; 0: not at all.',
  ),
  'authorization-webhook-cache-unauthorized-ttl': duration(
    30_000,
    keptMs,
    'How long any other decision of the authorization webhook is kept; 0: not at all.',
  ),
  'authorization-webhook-version': reviewVersion('SubjectAccessReview'),
} as const
