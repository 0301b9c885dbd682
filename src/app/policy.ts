import type { Clock } from '../../raft/base/clock.ts'
import { admissionChain } from '../admission/chain.ts'
import { namespaceLifecycle } from '../admission/namespace-lifecycle.ts'
import type { Names } from '../api/names.ts'
import { Authenticator } from '../auth/authenticate.ts'
import { authorizerFor } from '../auth/authorize.ts'
import { bootstrapPolicy } from '../auth/bootstrap-policy.ts'
import { clientCertificates } from '../auth/client-certificate.ts'
import type { AuthenticationMethod } from '../auth/credentials.ts'
import type { Authorizer } from '../auth/decision.ts'
import { AuthFailure } from '../auth/errors.ts'
import { staticRules } from '../auth/static-rules.ts'
import { tokenFile } from '../auth/token-file.ts'
import type { Config } from '../config/config.ts'
import { limits } from '../config/limits.ts'
import { readTextFile } from '../pki/files.ts'
import type { Admission } from '../registry/admission.ts'
import { NamespaceStates } from '../registry/namespace-state.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { StartFailure } from './errors.ts'

/** @throws StartFailure `usage` when the token file cannot be read */
export function authenticatorOf(
  config: Config,
  parts: { readonly clock: Clock; readonly more: readonly AuthenticationMethod[] },
): Authenticator {
  const path = config['token-auth-file']
  const methods: AuthenticationMethod[] = [clientCertificates(parts.clock), ...parts.more]
  if (path !== '') methods.push(tokensOf(path))
  return new Authenticator({
    methods,
    allowAnonymous: config['anonymous-auth'],
    clock: parts.clock,
    memoMs: limits.authenticationMemoMs,
  })
}

function tokensOf(path: string): ReturnType<typeof tokenFile> {
  try {
    return tokenFile(readTextFile(path), path)
  } catch (cause) {
    const why = cause instanceof AuthFailure || cause instanceof Error ? cause.message : String(cause)
    throw new StartFailure('usage', `--token-auth-file: ${why}`, { cause })
  }
}

export function authorizerOf(config: Config, names: Names): Authorizer {
  return authorizerFor(config['authorization-mode'], staticRules(bootstrapPolicy(names)))
}

export function admissionOf(names: Names, store: ObjectStore): Admission {
  const states = new NamespaceStates(store)
  return admissionChain([namespaceLifecycle({ names, namespaceState: (namespace) => states.of(namespace) })])
}
