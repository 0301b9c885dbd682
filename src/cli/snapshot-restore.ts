import { join } from 'node:path'
import { StartError } from '../config/start-error.ts'
import { BackupError } from '../backup/errors.ts'
import { RealFileBytes } from '../backup/file-bytes.ts'
import type { Secret } from '../backup/chunk-seal.ts'
import { newIncarnation, parseIncarnation } from '../backup/incarnation.ts'
import type { NewState } from '../backup/new-state.ts'
import { planRestore, restoreInto } from '../backup/restore.ts'
import type { RestoreOptions, RestorePlan } from '../backup/restore.ts'
import { SnapshotFile } from '../backup/snapshot-file.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/errors.ts'
import { loadConfig, dataDirMissing } from '../config/load.ts'
import { DirectoryTaken } from '../host/directory-lock.ts'
import type { DirectoryLock } from '../host/directory-lock.ts'
import { lockForProcess } from '../host/process-lock.ts'
import { makeDirectory, readTextFile } from '../pki/files.ts'
import { CliError } from './errors.ts'
import { readSecret } from './secret-file.ts'
import type { SecretFlags } from './secret-file.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'
import { initialMembers } from '../data-dir/initial-members.ts'

/** The server flags that identify the member. */
export const serverFlags = [
  ['config', 'file', 'configuration file of the member; options of this command win'],
  ['data-dir', 'dir', 'data directory of the member; it must be empty'],
  ['name', 'name', 'name of this member'],
  ['cluster-name', 'name', 'name of the cluster, the same on every member'],
  [
    'initial-members',
    'list',
    'all members of the new cluster, like the flag of the server: NAME=PEER/CLIENT',
  ],
  ['api-domain', 'domain', 'API domain; it must be that of the snapshot'],
  ['peer-address', 'address', 'peer address, for a single member'],
  ['advertise-address', 'address', 'client address, for a single member'],
] as const

type ServerFlag = (typeof serverFlags)[number][0]

export type RestoreFlags = SecretFlags &
  Readonly<Record<string, unknown>> & {
    readonly restoreId?: string
    readonly newKeys: boolean
    readonly output: Format
  }

/** Creates the data directory of one member of a new cluster from `file`. */
export async function snapshotRestore(terminal: Terminal, file: string, flags: RestoreFlags): Promise<void> {
  const config = configOf(flags)
  const incarnationOf = incarnationBy(terminal, flags.restoreId)
  const secret = readSecret(flags)
  const { made, plan } = await restoreMember(terminal, file, {
    config,
    incarnationOf,
    secret,
    newKeys: flags.newKeys,
  })
  const { incarnation } = plan
  const restored = {
    dataDirectory: config['data-dir'],
    member: config.name,
    clusterName: config['cluster-name'],
    clusterId: made.head.identity?.clusterId ?? '',
    savedClusterId: plan.header.clusterId,
    revision: made.head.revision,
    savedRevision: plan.header.revision,
    digest: made.digest,
    restoreId: incarnation.id,
  }
  printResult(terminal, restored, { config, file, flags })
  const makesOwnKeys = config['initial-members'].length <= 1 && config['tls-cert-file'] === ''
  if (makesOwnKeys && !flags.newKeys) {
    const path = join(config['data-dir'], 'pki')
    terminal.note(
      `without keys it would create its own, which do not match: restore ${path}, or use --new-keys`,
    )
  }
}

/** @throws BackupError, StartError, or the error of the disk */
export async function restoreMember(
  terminal: Terminal,
  file: string,
  of: {
    readonly config: Config
    readonly incarnationOf: RestoreOptions['incarnationOf']
    readonly secret: Secret | null
    readonly newKeys: boolean
  },
): Promise<{ readonly made: NewState; readonly plan: RestorePlan }> {
  const { config, incarnationOf, secret, newKeys } = of
  const bytes = new RealFileBytes(file)
  try {
    const options: RestoreOptions = {
      ...{ file: new SnapshotFile(bytes, file), name: file, secret, incarnationOf },
      cluster: config['cluster-name'],
      member: config.name,
      apiDomain: config['api-domain'],
      membersOf: (peers) => initialMembers(config, peers),
      listed: config['initial-members'],
      newKeys,
      random: terminal.random,
    }
    const plan = planRestore(options)
    makeDirectory(config['data-dir'])
    const lock = await lockedFor(terminal, config['data-dir'])
    try {
      return { made: await restoreInto(config['data-dir'], plan, options), plan }
    } finally {
      lock.release()
    }
  } finally {
    bytes.close()
  }
}

/** Returns the configuration of the member; its flags are parsed like those of the server. */
export function configOf(flags: Readonly<Record<string, unknown>>): Config {
  const args: string[] = []
  for (const [name] of serverFlags) {
    const given = flags[camel(name)]
    if (typeof given === 'string') args.push(`--${name}=${given}`)
  }
  // Keys are left to the server; without a configuration file their paths are unknown.
  if (flags['config'] === undefined && typeof flags['initialMembers'] === 'string') {
    for (const name of ['ca', 'cert', 'key']) args.push(`--peer-${name}-file=later`)
  }
  try {
    const loaded = loadConfig({ args, readFile: readTextFile })
    if (loaded.kind !== 'config' || loaded.config['in-memory'])
      throw new CliError('usage', '--data-dir is needed: a member in memory keeps nothing')
    return loaded.config
  } catch (cause) {
    if (cause instanceof ConfigError) {
      const isNowhere = cause.message === dataDirMissing
      throw new CliError(
        'usage',
        isNowhere ? '--data-dir is needed: the directory to restore to' : cause.message,
        {
          cause,
        },
      )
    }
    throw cause
  }
}

function camel(name: ServerFlag): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function incarnationBy(terminal: Terminal, given: string | undefined): RestoreOptions['incarnationOf'] {
  if (given === undefined)
    return (fingerprint) => newIncarnation(terminal.clock.wallMs(), terminal.random, fingerprint)
  const incarnation = parseIncarnation(given)
  if (incarnation === null)
    throw new CliError(
      'usage',
      `--restore-id must be the ID that the first restore printed, not ${JSON.stringify(given)}`,
    )
  return () => incarnation
}

/**
 * Takes the lock of the server. If another host takes over the lock, which requires that this
 * process was suspended for half a minute, the process ends: it must not write to the directory any
 * more.
 *
 * @throws BackupError `refused`, StartError
 */
export async function lockedFor(
  { clock, random, note }: Terminal,
  directory: string,
): Promise<DirectoryLock> {
  try {
    return await lockForProcess(directory, {
      ...{ pid: process.pid, clock, random },
      onTakenOver: note,
      onLost: ({ message }) => {
        note(message)
        process.exit(1)
      },
    })
  } catch (cause) {
    if (cause instanceof DirectoryTaken) throw new BackupError('refused', cause.message, { cause })
    throw cause instanceof Error ? cause : new StartError('data-directory', String(cause))
  }
}

type Restored = {
  readonly dataDirectory: string
  readonly member: string
  readonly clusterName: string
  readonly clusterId: string
  readonly savedClusterId: string
  readonly revision: number
  readonly savedRevision: number
  readonly digest: string
  readonly restoreId: string
}

function printResult(
  terminal: Terminal,
  restored: Restored,
  { config, file, flags }: { readonly config: Config; readonly file: string; readonly flags: RestoreFlags },
): void {
  if (flags.output === 'json') return terminal.print(JSON.stringify(restored, null, 2))
  const rows = [
    ['RESTORED', file],
    ['data directory', restored.dataDirectory],
    ['member', `${restored.member} of ${restored.clusterName}`],
    ['cluster id', `${restored.clusterId}, was ${restored.savedClusterId}`],
    ['revision', `${restored.revision}, was ${restored.savedRevision}`],
    ['digest', restored.digest],
    ['restore id', restored.restoreId],
  ]
  for (const line of formatTable(rows)) terminal.print(line)
  const others = config['initial-members'].filter(({ name }) => name !== config.name)
  if (others.length === 0) return
  const { passphraseFile, keyFile } = flags
  const secret =
    passphraseFile !== undefined
      ? ` --passphrase-file ${passphraseFile}`
      : keyFile === undefined
        ? ''
        : ` --key-file ${keyFile}`
  terminal.print('')
  terminal.print(
    `Restore the others (${others.map(({ name }) => name).join(', ')}) from the same file, each with its own --config or flags:`,
  )
  terminal.print(
    `  ${terminal.program} snapshot restore ${file}${secret} --restore-id ${restored.restoreId} …`,
  )
  terminal.print('then start all of them. The digest is the same on each.')
}
