import type { Config } from './config.ts'

/** The authorizers of `--authorization-mode`. */
export const AUTHORIZATION_MODES = ['ABAC', 'RBAC', 'Webhook', 'AlwaysAllow', 'AlwaysDeny'] as const

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
  checkFrontProxy(config, wrong)
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
