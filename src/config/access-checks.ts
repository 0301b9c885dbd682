import { OIDC_ALGORITHMS } from './access-flags.ts'
import type { Config } from './config.ts'

/** The authorizers of `--authorization-mode`. */
export const AUTHORIZATION_MODES = ['Node', 'ABAC', 'RBAC', 'Webhook', 'AlwaysAllow', 'AlwaysDeny'] as const

export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number]

export function isAuthorizationMode(mode: string): mode is AuthorizationMode {
  return AUTHORIZATION_MODES.some((known) => known === mode)
}

/** The file that a mode needs. */
const modeFiles = {
  ABAC: 'authorization-policy-file',
  Webhook: 'authorization-webhook-config-file',
} as const satisfies { readonly [mode in AuthorizationMode]?: keyof Config }

/** Checks the flags of authentication and authorization. */
export function checkAccess(config: Config, wrong: (message: string) => never): void {
  const modes = config['authorization-mode']
  for (const [at, mode] of modes.entries()) {
    if (!isAuthorizationMode(mode)) {
      const known = AUTHORIZATION_MODES.join(', ')
      wrong(`--authorization-mode must be a list of ${known}, not ${JSON.stringify(mode)}`)
    }
    if (modes.indexOf(mode) !== at) wrong(`--authorization-mode has ${mode} twice: omit one of them`)
  }
  for (const mode of ['ABAC', 'Webhook'] as const) {
    const flag = modeFiles[mode]
    const [isUsed, isGiven] = [modes.includes(mode), config[flag] !== '']
    if (isUsed && !isGiven) wrong(`--authorization-mode ${mode} needs --${flag}`)
    if (!isUsed && isGiven) wrong(`--${flag} is for the mode ${mode}: add it to --authorization-mode`)
  }
  checkClientAuthorities(config, wrong)
  checkFrontProxy(config, wrong)
  checkOidc(config, wrong)
}

/** A member that creates its keys would ignore the file, and refuse the clients that it is for. */
function checkClientAuthorities(config: Config, wrong: (message: string) => never): void {
  if (config['client-ca-file'] === '' || config['tls-cert-file'] !== '') return
  const remedy = '--tls-cert-file and --tls-private-key-file'
  wrong(`--client-ca-file needs ${remedy}: a member without them accepts its own authority only`)
}

function checkOidc(config: Config, wrong: (message: string) => never): void {
  const issuer = config['oidc-issuer-url']
  const [isGiven, hasClient] = [issuer !== '', config['oidc-client-id'] !== '']
  if (isGiven && !hasClient) wrong('--oidc-issuer-url needs --oidc-client-id, which tokens are issued to')
  for (const flag of ['oidc-client-id', 'oidc-ca-file', 'oidc-groups-claim'] as const) {
    if (config[flag] !== '' && !isGiven) wrong(`--${flag} needs --oidc-issuer-url`)
  }
  if (!isGiven) return
  if (!URL.canParse(issuer) || new URL(issuer).protocol !== 'https:') {
    wrong('--oidc-issuer-url must be an https URL, as the provider writes it in its tokens')
  }
  const bad = config['oidc-signing-algs'].find((name) => !OIDC_ALGORITHMS.includes(name))
  if (bad !== undefined) wrong(`--oidc-signing-algs has ${bad}: known are ${OIDC_ALGORITHMS.join(', ')}`)
  if (config['oidc-signing-algs'].length === 0) wrong('--oidc-signing-algs is empty: omit it, or name one')
}

const proxyLists = [
  'requestheader-username-headers',
  'requestheader-group-headers',
  'requestheader-extra-headers-prefix',
  'requestheader-allowed-names',
] as const satisfies readonly (keyof Config)[]

function checkFrontProxy(config: Config, wrong: (message: string) => never): void {
  const caFlag = 'requestheader-client-ca-file'
  for (const flag of proxyLists) {
    if (config[flag].length > 0 && config[caFlag] === '') wrong(`--${flag} needs --${caFlag}`)
    if (flag === 'requestheader-allowed-names') continue
    const bad = config[flag].find((name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    if (bad !== undefined) wrong(`--${flag} has ${JSON.stringify(bad)}, which is not the name of a header`)
  }
  if (config[caFlag] !== '' && config['requestheader-username-headers'].length === 0)
    wrong(`--${caFlag} needs --requestheader-username-headers, such as X-Remote-User`)
}
