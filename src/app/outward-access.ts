import { abac } from '../auth/abac.ts'
import type { ConfiguredAuthorizers } from '../auth/authorize.ts'
import type { AuthenticationMethod } from '../auth/credentials.ts'
import type { Authorizer } from '../auth/decision.ts'
import { OidcKeys } from '../auth/oidc/oidc-keys.ts'
import type { OidcClaims } from '../auth/oidc/oidc-user.ts'
import { openIdConnect } from '../auth/oidc/oidc.ts'
import { authorizationWebhook } from '../auth/webhook/authorization-webhook.ts'
import { ReviewWebhook } from '../auth/webhook/review-webhook.ts'
import type { ReviewWebhookOptions } from '../auth/webhook/review-webhook.ts'
import { tokenWebhook } from '../auth/webhook/token-webhook.ts'
import { limits } from '../config/limits.ts'
import { StartError } from '../config/start-error.ts'
import { FailureLog } from '../outward/failure-log.ts'
import { OutwardClient } from '../outward/outward-client.ts'
import { readClientConfig } from '../pki/client-config.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'
import { readTextFile } from '../pki/files.ts'
import type { BootContext } from './context.ts'

export type OutwardAccessDependencies = Pick<
  BootContext,
  'config' | 'names' | 'clock' | 'random' | 'log' | 'closing'
> & {
  /** The audiences of this server. */
  readonly audiences: readonly string[]
}

/** Methods and authorizers that need a file or another server. */
export type OutwardAccess = {
  readonly tokens: readonly AuthenticationMethod[]
  readonly authorizers: ConfiguredAuthorizers
}

/** @throws StartError `usage` when a file cannot be used */
export function outwardAccess(dependencies: OutwardAccessDependencies): OutwardAccess {
  const { config } = dependencies
  const modes = config['authorization-mode']
  return {
    tokens: [
      ...(config['oidc-issuer-url'] === '' ? [] : [identityTokens(dependencies)]),
      ...(config['authentication-token-webhook-config-file'] === '' ? [] : [tokenReviews(dependencies)]),
    ],
    authorizers: {
      ...(modes.includes('ABAC') ? { ABAC: policies(dependencies) } : {}),
      ...(modes.includes('Webhook') ? { Webhook: accessReviews(dependencies) } : {}),
    },
  }
}

function identityTokens({
  config,
  clock,
  random,
  log,
  closing,
}: OutwardAccessDependencies): AuthenticationMethod {
  const issuer = config['oidc-issuer-url']
  const path = config['oidc-ca-file']
  const authority = path === '' ? null : withFlag('oidc-ca-file', () => authoritiesIn(path))
  const keys = new OidcKeys(issuer, {
    clock,
    open: (url) => new OutwardClient({ ...noCredentials, url, authority }, oidcOptions, { clock, random }),
    failures: new FailureLog({ what: 'OpenID provider', url: issuer }, { clock, log }),
  })
  closing.add(() => keys.close())
  const algorithms = config['oidc-signing-algs']
  return openIdConnect(
    { issuer, clientId: config['oidc-client-id'], algorithms, claims: claimsOf(config) },
    { keys, clock },
  )
}

/** @throws PkiError */
function authoritiesIn(path: string): string {
  const pem = readTextFile(path)
  readTrustBundle(pem)
  return pem
}

function claimsOf(config: BootContext['config']): OidcClaims {
  const usernameClaim = config['oidc-username-claim']
  const prefix = config['oidc-username-prefix']
  // Two providers may have the same subject; an email address is unique.
  const standard = usernameClaim === 'email' ? '' : `${config['oidc-issuer-url']}#`
  return {
    usernameClaim,
    usernamePrefix: prefix === '-' ? '' : prefix === '' ? standard : prefix,
    groupsClaim: config['oidc-groups-claim'],
    groupsPrefix: config['oidc-groups-prefix'],
    requiredClaims: config['oidc-required-claim'],
  }
}

const noCredentials = { identity: null, authorization: null, tokenFile: null, serverName: null }

const oidcOptions = {
  callMsMax: limits.oidcMsMax,
  // Keys are fetched by one request at a time.
  connectionsMax: 1,
  queueMax: 0,
  attemptsMax: 1,
  responseBytesMax: limits.oidcResponseBytesMax,
}

function tokenReviews(dependencies: OutwardAccessDependencies): AuthenticationMethod {
  const { config, names, clock, audiences } = dependencies
  const version = config['authentication-token-webhook-version']
  const webhook = webhookOf(dependencies, {
    flag: 'authentication-token-webhook-config-file',
    what: 'authentication webhook',
    review: { apiVersion: `${names.group('authentication')}/${version}`, kind: 'TokenReview' },
  })
  return tokenWebhook(
    { audiences, keptMs: config['authentication-token-webhook-cache-ttl'] },
    { webhook, clock },
  )
}

function accessReviews(dependencies: OutwardAccessDependencies): Authorizer {
  const { config, names, clock } = dependencies
  const version = config['authorization-webhook-version']
  const webhook = webhookOf(dependencies, {
    flag: 'authorization-webhook-config-file',
    what: 'authorization webhook',
    review: { apiVersion: `${names.group('authorization')}/${version}`, kind: 'SubjectAccessReview' },
  })
  return authorizationWebhook(
    {
      version,
      allowedKeptMs: config['authorization-webhook-cache-authorized-ttl'],
      refusedKeptMs: config['authorization-webhook-cache-unauthorized-ttl'],
    },
    { webhook, clock },
  )
}

type WebhookFlag = 'authentication-token-webhook-config-file' | 'authorization-webhook-config-file'

function webhookOf(
  { config, clock, random, log, closing }: OutwardAccessDependencies,
  { flag, what, review }: { flag: WebhookFlag; what: string; review: ReviewWebhookOptions },
): ReviewWebhook {
  return withFlag(flag, () => {
    const target = readClientConfig(config[flag])
    if (target.url.protocol !== 'https:') throw new Error('server must be an https URL: reviews hold tokens')
    const client = new OutwardClient(target, webhookOptions, { clock, random })
    closing.add(() => client.close())
    // Without credentials that a URL may contain.
    const url = `${target.url.origin}${target.url.pathname}`
    return new ReviewWebhook(review, { client, failures: new FailureLog({ what, url }, { clock, log }) })
  })
}

const webhookOptions = {
  callMsMax: limits.reviewWebhookMsMax,
  connectionsMax: limits.reviewWebhookConnectionsMax,
  queueMax: limits.reviewWebhookQueueMax,
  attemptsMax: limits.reviewWebhookAttemptsMax,
  responseBytesMax: limits.reviewWebhookResponseBytesMax,
}

function policies({ config, names }: OutwardAccessDependencies): Authorizer {
  const path = config['authorization-policy-file']
  const apiVersion = names.labelUnder('abac.authorization', 'v1beta1')
  return withFlag('authorization-policy-file', () => abac(readTextFile(path), path, apiVersion))
}

/** @throws StartError `usage` that names the flag */
function withFlag<T>(flag: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StartError('usage', `--${flag}: ${why}`, { cause })
  }
}
