import type { Clock } from '../../base/clock.ts'
import type { ConsensusStatus } from '../../raft/index.ts'
import type { Names } from '../api/metadata/names.ts'
import { alwaysAllowedPaths } from '../auth/always.ts'
import { Authenticator } from '../auth/authenticate.ts'
import { authorizerFor, firstOpinion } from '../auth/authorize.ts'
import { defaultPolicy } from '../auth/bootstrap/default-policy.ts'
import { joiningPolicy } from '../auth/bootstrap/joining-policy.ts'
import { bootstrapTokens } from '../auth/bootstrap-token.ts'
import { clientCertificates } from '../auth/client-certificate.ts'
import type { AuthenticationMethod } from '../auth/credentials.ts'
import type { Authorizer } from '../auth/decision.ts'
import { AuthError } from '../auth/errors.ts'
import { frontProxy } from '../auth/front-proxy.ts'
import type { FrontProxyOptions } from '../auth/front-proxy.ts'
import { followNodeGraph } from '../auth/node/follow-node-graph.ts'
import type { NodeGraphOptions } from '../auth/node/follow-node-graph.ts'
import { nodeAuthorizer } from '../auth/node/node-authorizer.ts'
import { reviewersOf } from '../auth/reviewers.ts'
import { anyOf } from '../auth/rules.ts'
import type { RuleSource } from '../auth/rules.ts'
import { staticRules } from '../auth/static-rules.ts'
import { followStoredRules } from '../auth/follow-stored-rules.ts'
import type { ServiceAccounts } from '../auth/service-accounts/service-accounts.ts'
import type { TrustStore } from '../auth/trust-store.ts'
import { tokenFile } from '../auth/token-file.ts'
import type { Config } from '../config/config.ts'
import { readTextFile } from '../pki/files.ts'
import type { AccessReviewer } from '../registry/kinds/access-reviewer.ts'
import { staleAccessMsDefault } from '../store/command.ts'
import { keyOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { StoreError } from '../store/store-errors.ts'
import { outwardAccess } from './outward-access.ts'
import type { OutwardAccessDependencies } from './outward-access.ts'
import type { ShutdownStack } from './shutdown-stack.ts'
import { StartError } from '../config/start-error.ts'

/** Authentication and authorization of this server, as its flags configure them. */
export type Access = {
  /** The audiences of this server. */
  readonly audiences: readonly string[]
  /** Methods that check bearer tokens, in order. */
  readonly tokens: readonly AuthenticationMethod[]
  readonly authorizer: Authorizer
  /** The rules of roles and bindings, whatever modes are configured. */
  readonly rules: RuleSource
  /** Changes whenever a user may have lost a permission. */
  readonly version: () => number
}

export type AccessDependencies = {
  readonly config: Config
  readonly names: Names
  readonly store: ObjectStore
  readonly clock: Clock
  readonly closing: ShutdownStack
  readonly serviceAccounts: ServiceAccounts
  /** All Pods, for the mode Node; the owner starts the informer later. */
  readonly pods: NodeGraphOptions['pods']
  /** The keys of tokens. When they change, the tokens of some callers may become invalid. */
  readonly tokenKeys: readonly { readonly version: number }[]
} & Pick<OutwardAccessDependencies, 'random' | 'log'>

/** @throws StartError `usage` when a file that a flag names cannot be used */
export function accessOf(dependencies: AccessDependencies): Access {
  const { config, names, store, clock, closing, tokenKeys } = dependencies
  const { audiences, method } = dependencies.serviceAccounts
  const outward = outwardAccess({ ...dependencies, audiences })
  const path = config['token-auth-file']
  const stored = followStoredRules({ names, store, clock })
  closing.add(() => stored.close())
  const rules = anyOf([staticRules(joiningPolicy(names)), stored.rules])
  const nodes = config['authorization-mode'].includes('Node') ? nodesOf(dependencies) : null
  const configured = { ...outward.authorizers, ...(nodes === null ? {} : { Node: nodes.authorizer }) }
  return {
    audiences,
    tokens: [
      ...(path === '' ? [] : [tokensOf(path)]),
      method,
      ...(config['enable-bootstrap-token-auth'] ? [bootstrapTokens({ names, store, clock })] : []),
      ...outward.tokens,
    ],
    authorizer: firstOpinion([
      alwaysAllowedPaths(config['authorization-always-allow-paths']),
      authorizerFor(config['authorization-mode'], rules, configured),
    ]),
    rules,
    version: () =>
      tokenKeys.reduce((sum, { version }) => sum + version, rules.version + (nodes?.version() ?? 0)),
  }
}

/** Starts the mode Node. */
function nodesOf({ names, store, clock, closing, pods }: AccessDependencies): {
  readonly authorizer: Authorizer
  readonly version: () => number
} {
  const { graph, close } = followNodeGraph({ names, store, clock, pods })
  closing.add(close)
  const rules = defaultPolicy(names).roles.flatMap((role) => (role.name === 'system:node' ? role.rules : []))
  return { authorizer: nodeAuthorizer({ names, graph, rules }), version: () => graph.version }
}

function tokensOf(path: string): ReturnType<typeof tokenFile> {
  try {
    return tokenFile(readTextFile(path), path)
  } catch (cause) {
    const why = cause instanceof AuthError || cause instanceof Error ? cause.message : String(cause)
    throw new StartError('usage', `--token-auth-file: ${why}`, { cause })
  }
}

/** @param more methods in addition to proxies, certificates and those of `access` */
export function authenticatorOf(
  config: Config,
  dependencies: {
    readonly clock: Clock
    readonly access: Access
    readonly trust: TrustStore
    readonly more: readonly AuthenticationMethod[]
  },
): Authenticator {
  const { clock, access, trust, more } = dependencies
  return new Authenticator({
    methods: [
      ...proxiesOf(config, clock, trust),
      clientCertificates(clock, trust),
      ...more,
      ...access.tokens,
    ],
    allowAnonymous: allowsAnonymous(config),
  })
}

function proxiesOf(config: Config, clock: Clock, trust: TrustStore): readonly AuthenticationMethod[] {
  if (config['requestheader-client-ca-file'] === '') return []
  return [frontProxy(proxyOptions(config), { clock, trust })]
}

export function proxyOptions(config: Config): FrontProxyOptions {
  return {
    allowedNames: config['requestheader-allowed-names'],
    userHeaders: config['requestheader-username-headers'],
    groupHeaders: config['requestheader-group-headers'],
    extraPrefixes: config['requestheader-extra-headers-prefix'],
  }
}

/**
 * @source spec 5 "Anonymous access"; apiserver `pkg/kubeapiserver/options/authentication.go`,
 * `ApplyAuthorization`
 */
export function allowsAnonymous(config: Config): boolean {
  return config['anonymous-auth'] && !config['authorization-mode'].includes('AlwaysAllow')
}

/** Returns warnings about flags that are ignored, as access would be too broad: one line each. */
export function accessWarnings(config: Config): readonly string[] {
  if (allowsAnonymous(config) === config['anonymous-auth']) return []
  return [
    'with --authorization-mode AlwaysAllow anonymous callers could do everything: --anonymous-auth is disabled, use another mode to enable it',
  ]
}

/**
 * Builds the reviewers behind the review APIs: what this server would decide about a user or a
 * token.
 */
export function reviewersFor(access: Access): AccessReviewer {
  return reviewersOf(access)
}

/**
 * Returns whether this member has been without contact to a quorum for longer than the settings
 * allow it to decide by the roles and bindings that it knows. Without contact so far, the time
 * counts from the start of the member.
 */
export function staleAccess(of: {
  readonly consensus: { readonly status: Pick<ConsensusStatus, 'quorumContactMs'> }
  readonly store: Pick<ObjectStore, 'settings'>
  readonly clock: Pick<Clock, 'monotonicMs'>
}): () => boolean {
  const { consensus, store, clock } = of
  const startedMs = clock.monotonicMs()
  return () => {
    const ageMs = clock.monotonicMs() - (consensus.status.quorumContactMs ?? startedMs)
    return ageMs > settingOf(store)
  }
}

/** A state that is not trusted has no settings. */
function settingOf(store: Pick<ObjectStore, 'settings'>): number {
  try {
    return store.settings.staleAccessMs ?? staleAccessMsDefault
  } catch (cause) {
    if (cause instanceof StoreError) return staleAccessMsDefault
    throw cause
  }
}

/** Whether this member has applied any of those default objects that the leader stores last. */
export function hasDefaultBindings(store: Pick<ObjectStore, 'view'>, names: Names): boolean {
  const group = names.group('rbac.authorization')
  const bindings = defaultPolicy(names).namespacedBindings
  try {
    const view = store.view()
    return bindings.some(
      ({ namespace, name }) => view.get(keyOf({ group, plural: 'rolebindings', namespace, name })) !== null,
    )
  } catch (cause) {
    if (cause instanceof StoreError) return false
    throw cause
  }
}
