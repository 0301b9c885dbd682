import { checkAccess } from './access-checks.ts'
import { checkAdmissionPlugins } from './admission-plugins-flag.ts'
import type { Config, LoadedConfig, Source } from './config.ts'
import { ConfigError } from './errors.ts'
import { flags } from './flags.ts'
import type { FlagName } from './flags.ts'
import { mostLike, nearest } from './nearest.ts'
import { checkServiceAccounts } from './service-account-flags.ts'
import { checkSigning } from './signing-files.ts'
import { readYaml } from './yaml-text.ts'

/** Text values by flag, from the command line or a file. */
type FlagTexts = ReadonlyMap<FlagName, readonly string[]>

export type Loading = {
  /** Without program and script. */
  readonly args: readonly string[]
  /** @throws when the file cannot be read */
  readonly readFile: (path: string) => string
}

export type Loaded =
  { readonly kind: 'help' } | { readonly kind: 'version' } | ({ readonly kind: 'config' } & LoadedConfig)

/** Merges defaults, the file and the command line. @throws ConfigError */
export function loadConfig({ args, readFile }: Loading): Loaded {
  if (args.includes('--help') || args.includes('-h')) return { kind: 'help' }
  if (args.includes('--version')) return { kind: 'version' }
  const fromArgs = fromCommandLine(args)
  const path = fromArgs.get('config')?.at(-1)
  const written: FlagTexts = path === undefined ? new Map() : fromFile(path, readFile)
  const values: Partial<Record<FlagName, unknown>> = {}
  const sources: Partial<Record<FlagName, Source>> = {}
  for (const name of flagNames) {
    const source: Source = fromArgs.has(name)
      ? 'command line'
      : written.has(name)
        ? `file ${path ?? ''}`
        : 'default'
    const stated = fromArgs.get(name) ?? written.get(name)
    sources[name] = source
    values[name] = stated === undefined ? flags[name].fallback : parsed(name, stated, source)
  }
  // All flags were visited, and each parser returns the declared type.
  const config = Object.freeze(values) as Config
  checkTogether(config)
  return { kind: 'config', config, sources: Object.freeze(sources) as LoadedConfig['sources'] }
}

export const flagNames = Object.keys(flags) as readonly FlagName[]

function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flags, name)
}

function unknown(name: string, where: string): ConfigError {
  const close = nearest(name, flagNames)
  const dashes = where === 'command line' ? '--' : ''
  // Flags of other servers may resemble none of these.
  const hint =
    close === null
      ? `the nearest known is ${dashes}${mostLike(name, flagNames)?.word ?? ''}, see --help`
      : `did you mean ${dashes}${close}?`
  return new ConfigError(`unknown flag ${dashes}${name} (${where}): ${hint}`)
}

/** `--flag=value`, `--flag value`, `--switch`, `--switch=false`; a flag may be repeated. */
function fromCommandLine(args: readonly string[]): FlagTexts {
  const stated = new Map<FlagName, string[]>()
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string
    const [, name, value] = /^--([^=]+)(?:=([\s\S]*))?$/.exec(word) ?? []
    if (name === undefined)
      throw new ConfigError(`unexpected argument ${JSON.stringify(word)}: flags begin with --, see --help`)
    if (!isFlagName(name)) throw unknown(name, 'command line')
    let fromArgs = value
    if (fromArgs === undefined) {
      if (flags[name].isSwitch) fromArgs = 'true'
      else fromArgs = args[++at]
      if (fromArgs === undefined) throw new ConfigError(`--${name} needs a value: ${flags[name].help}`)
    }
    const before = stated.get(name)
    if (before === undefined) stated.set(name, [fromArgs])
    else before.push(fromArgs)
  }
  return stated
}

function readNamed(path: string, readFile: Loading['readFile']): string {
  try {
    return readFile(path)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const words = why.startsWith(`${path} `) ? why : `${path} cannot be read: ${why}`
    throw new ConfigError(`configuration file ${words}`, { cause })
  }
}

function fromFile(path: string, readFile: Loading['readFile']): FlagTexts {
  const text = readNamed(path, readFile)
  const read = readYaml(text)
  if (read.kind === 'problem')
    throw new ConfigError(`configuration file ${path} cannot be read: ${read.problem}`)
  const { content } = read
  if (content === null) return new Map()
  if (typeof content !== 'object' || Array.isArray(content)) {
    throw new ConfigError(`configuration file ${path} must be a map of flags to values`)
  }
  const stated = new Map<FlagName, readonly string[]>()
  for (const [name, value] of Object.entries(content)) {
    if (!isFlagName(name)) throw unknown(name, `file ${path}`)
    if (name === 'config')
      throw new ConfigError(`config (file ${path}): a configuration file cannot name another one`)
    stated.set(
      name,
      Array.isArray(value) ? value.map((one) => asText(name, one, path)) : [asText(name, value, path)],
    )
  }
  return stated
}

function asText(name: FlagName, value: unknown, path: string): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    default:
      if (name === 'initial-members' && typeof value === 'object' && value !== null)
        return memberText(value, path)
      throw new ConfigError(`${name} (file ${path}): must be a string, a number, a boolean or a list of them`)
  }
}

/** Converts a member written as a map to the form of the command line. */
function memberText(value: object, path: string): string {
  const fields = ['name', 'peer-address', 'client-address'] as const
  const given = value as Readonly<Record<string, unknown>>
  const extra = Object.keys(given).find((key) => !fields.some((field) => field === key))
  if (extra !== undefined)
    throw new ConfigError(`initial-members (file ${path}): unknown member field ${extra}`)
  const [name, peer, client] = fields.map((field) => {
    const stated = given[field]
    if (typeof stated !== 'string')
      throw new ConfigError(`initial-members (file ${path}): each member needs ${field}`)
    return stated
  })
  return `${name}=${peer}/${client}`
}

function parsed(name: FlagName, stated: readonly string[], source: Source): unknown {
  try {
    return flags[name].parse(stated)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    const dashes = source === 'command line' ? '--' : ''
    throw new ConfigError(`${dashes}${name} (${source}) ${cause.message}`, { cause })
  }
}

/** Error for a configuration without `data-dir`; not every caller can run in memory. */
export const dataDirMissing = '--data-dir is needed, or --in-memory to keep nothing'

/** Checks that involve several flags. */
function checkTogether(config: Config): void {
  const wrong = (message: string): never => {
    throw new ConfigError(message)
  }
  if (config['data-dir'] === '' && !config['in-memory']) wrong(dataDirMissing)
  if (config['data-dir'] !== '' && config['in-memory']) wrong('--in-memory keeps nothing: omit --data-dir')
  if (config['election-timeout'] < 3 * config['heartbeat-interval']) {
    wrong('--election-timeout must be at least three times --heartbeat-interval')
  }
  if (config['identity-lease-renew-interval-seconds'] >= config['identity-lease-duration-seconds']) {
    wrong('--identity-lease-renew-interval-seconds must be less than --identity-lease-duration-seconds')
  }
  const members = config['initial-members']
  if (members.length > 0 && !members.some(({ name }) => name === config.name)) {
    wrong(`--initial-members does not list this member: add ${config.name}, or give another --name`)
  }
  if (new Set(members.map(({ name }) => name)).size !== members.length)
    wrong('--initial-members lists a name twice')
  if (members.length > 1 && config['in-memory']) {
    // After a restart it could vote twice in one term.
    wrong('--in-memory forgets votes and promises to other members: a cluster of several needs --data-dir')
  }
  if (members.length > 1 && config['peer-cert-file'] === '') {
    wrong(
      'a cluster of several members needs --peer-ca-file, --peer-cert-file and --peer-key-file: orchctl pki init makes them',
    )
  }
  if (config['secure-port'] === 0) checkAnyPort(config, wrong)
  checkAudit(config, wrong)
  checkJoin(config, wrong)
  checkServiceAccounts(config['service-account-max-token-expiration'], wrong)
  checkSigning(config, wrong)
  for (const [one, other] of pairs) {
    if ((config[one] === '') !== (config[other] === '')) wrong(`--${one} and --${other} go together`)
  }
  if (config['kubelet-certificate-authority'] !== '' && config['kubelet-client-certificate'] === '')
    wrong('--kubelet-certificate-authority needs --kubelet-client-certificate and --kubelet-client-key')
  checkAccess(config, wrong)
  checkAdmissionPlugins(config, wrong)
}

/** Rejects `--secure-port 0` where other members must know the port before the start. */
function checkAnyPort(config: Config, wrong: (message: string) => never): void {
  const any = '--secure-port 0 takes any free port'
  if (config['advertise-address'] !== '')
    wrong(`${any}, and --advertise-address names one: give a fixed --secure-port`)
  if (config['initial-members'].length > 0)
    wrong(`${any}, and --initial-members has a fixed one: give a fixed --secure-port`)
  if (config.join.length > 0) wrong(`${any}, and --join needs a fixed one: give a fixed --secure-port`)
}

function checkAudit(config: Config, wrong: (message: string) => never): void {
  const path = config['audit-log-path']
  const webhook = config['audit-webhook-config-file']
  if (path === '' && webhook === '' && config['audit-policy-file'] !== '') {
    const where = '--audit-log-path or --audit-webhook-config-file'
    wrong(`--audit-policy-file needs a destination: add ${where}`)
  }
  if (webhook !== '' && config['audit-policy-file'] === '')
    wrong('--audit-webhook-config-file needs --audit-policy-file, which selects the events')
  if (path !== '' && config['audit-policy-file'] === '')
    wrong('--audit-log-path needs --audit-policy-file, which selects the events')
  if (path !== '' && path !== '-') return
  for (const name of ['audit-log-maxsize', 'audit-log-maxbackup', 'audit-log-maxage'] as const) {
    if (config[name] === 0) continue
    wrong(`--${name} applies to a file: omit it, or name one with --audit-log-path`)
  }
}

function checkJoin(config: Config, wrong: (message: string) => never): void {
  if (config.join.length === 0) return
  if (config['initial-members'].length > 0)
    wrong('--join joins a cluster, --initial-members creates one: omit one of them')
  if (config['in-memory'])
    wrong('--in-memory forgets votes and promises to other members: --join needs --data-dir')
  if (config['join-token'] !== '' && config['join-token-file'] !== '')
    wrong('give --join-token or --join-token-file, not both')
  if (config['peer-address'] === '')
    wrong('--join needs --peer-address, the address that the other members connect to')
  if (config['peer-cert-file'] === '' || config['tls-cert-file'] === '') {
    const files =
      '--tls-cert-file, --tls-private-key-file, --peer-ca-file, --peer-cert-file and --peer-key-file'
    wrong(`--join needs ${files}: orchctl member add --pki makes them`)
  }
  if (config['client-ca-file'] === '')
    wrong('--join needs --client-ca-file, the same one as on the other members')
}

const pairs = [
  ['tls-cert-file', 'tls-private-key-file'],
  ['peer-cert-file', 'peer-key-file'],
  ['peer-cert-file', 'peer-ca-file'],
  ['kubelet-client-certificate', 'kubelet-client-key'],
] as const
