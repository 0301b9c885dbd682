import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { CodedError } from '../../base/coded-error.ts'
import { durationMs, sizeBytes } from '../config/flag.ts'
import { programVersion } from '../version.ts'
import { addBench } from './bench-command.ts'
import { addBootstrapTokens } from './bootstrap-tokens.ts'
import { addChaos } from './chaos-command.ts'
import { clusterDown, clusterStatus, clusterUp } from './cluster.ts'
import { addClusterMembers } from './cluster-commands.ts'
import { CliError, exitCodes } from './errors.ts'
import { addKeys } from './keys.ts'
import { addMember } from './member-commands.ts'
import { addPki } from './pki-commands.ts'
import { readSecret } from './secret-file.ts'
import type { SecretFlags } from './secret-file.ts'
import { settingsGet, settingsSet } from './settings.ts'
import { addRecover } from './recover-command.ts'
import { addSnapshot } from './snapshot-commands.ts'
import type { Format, Terminal } from './terminal.ts'
import { addStorage } from './storage-commands.ts'
import { addVerify } from './verify-command.ts'
import { addWebhooks } from './webhooks.ts'

const defaultDirectory = '.cluster'

/**
 * Runs one command.
 *
 * @param args without program and script
 * @returns the exit code: 0 done, 1 failed, 2 not understood, 3 undecided (`verify` only)
 */
export async function cli(args: readonly string[], terminal: Terminal): Promise<number> {
  const result: { code: number } = { code: exitCodes.done }
  const program = orchctl(terminal, result)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return result.code
  } catch (cause) {
    // Help and version end with an exception, too; commander has printed them.
    if (cause instanceof CommanderError) return cause.exitCode === 0 ? exitCodes.done : exitCodes.usage
    const isExpected = cause instanceof CodedError || (cause instanceof Error && 'syscall' in cause)
    if (!isExpected) throw cause
    terminal.note(`orchctl: ${cause.message}`)
    return cause instanceof CliError && cause.code === 'usage' ? exitCodes.usage : exitCodes.failed
  }
}

/** Returns all commands; `result` receives the exit code of those that choose one. */
export function orchctl(terminal: Terminal, result: { code: number }): Command {
  const program = new Command('orchctl')
    .description('Operator tool of orch-apiserver: keys, local clusters, members, backups, tests.')
    .version(programVersion)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error: /, 'orchctl: ')),
    })
    .showSuggestionAfterError()
    .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 not understood, 3 undecided (verify only).')
  addPki(program, terminal, result, { kubeconfig: kubeconfigOption, output: outputOption })
  addCluster(program, terminal, result)
  const shared = { kubeconfig: kubeconfigOption, output: outputOption }
  addMember(program, terminal, shared)
  addSettings(program, terminal)
  addKeys(program, terminal, shared)
  addBootstrapTokens(program, terminal, shared)
  addWebhooks(program, terminal, shared)
  addStorage(program, terminal, result, shared)
  addSnapshot(program, terminal, shared)
  addRecover(program, terminal, shared)
  addChaos(program, terminal, result, { directory: directoryOption, output: outputOption })
  addVerify(program, terminal, result, { kubeconfig: kubeconfigOption, output: outputOption })
  addBench(program, terminal, result, { kubeconfig: kubeconfigOption, directory: directoryOption })
  return program
}

function addCluster(program: Command, terminal: Terminal, result: { code: number }): void {
  const cluster = program.command('cluster').description('a cluster on this machine')
  cluster
    .command('up')
    .description('create the cluster if needed, start it, and wait until every member is ready')
    .option('--nodes <count>', 'number of members of a new cluster, 1 to 9 (default: 3)', wholeNumber(1, 9))
    .addOption(
      new Option('--domain <domain>', 'domain of the API groups of a new cluster (default: orch.io)').choices(
        ['orch.io', 'k8s.io'],
      ),
    )
    .addOption(directoryOption())
    .option(
      '--client-port <port>',
      'client port of the first member; the others get the next ones (default: 6443)',
      wholeNumber(1, 65_000),
    )
    .option(
      '--peer-port <port>',
      'peer port of the first member; the others get the next ones (default: 1000 above --client-port, or below if that is over 65000)',
      wholeNumber(1, 65_000),
    )
    .option('--timeout <seconds>', 'how long to wait until it is ready', wholeNumber(1, 3600), 60)
    .option(
      '--chaos',
      'prepare it for orchctl chaos: proxies between peers, injectable disk and clock faults',
    )
    .option('--restore <file>', 'create the new cluster from this snapshot')
    .option('--passphrase-file <file>', 'file with the passphrase of the snapshot')
    .option('--key-file <file>', 'file with the key of the snapshot')
    .action(async (options: UpOptions) => {
      const { nodes, domain, dir, clientPort, peerPort, timeout, restore, chaos } = options
      await clusterUp(terminal, {
        nodes: nodes ?? null,
        domain: domain ?? null,
        clientPort: clientPort ?? null,
        peerPort: peerPort ?? null,
        directory: dir,
        timeoutMs: timeout * 1000,
        ...(chaos === undefined ? {} : { chaos }),
        restore: restore === undefined ? null : { file: restore, secret: readSecret(options) },
      })
    })
  cluster
    .command('down')
    .description('stop all members and wait; their data stays')
    .addOption(directoryOption())
    .option('--timeout <seconds>', 'how long to wait', wholeNumber(1, 3600), 30)
    .option('--force', 'SIGKILL members that are still running after the timeout', false)
    .action(async (options: { readonly dir: string; readonly timeout: number; readonly force: boolean }) => {
      const { dir: directory, timeout, force } = options
      await clusterDown(terminal, { directory, force, timeoutMs: timeout * 1000 })
    })
  cluster
    .command('status')
    .description('show role, term, leader and readiness of each member; exit code 1 unless all are ready')
    .addOption(directoryOption())
    .addOption(outputOption())
    .action(async (options: { readonly dir: string; readonly output: Format }) => {
      if (!(await clusterStatus(terminal, options.dir, options.output))) result.code = exitCodes.failed
    })
  addClusterMembers(cluster, terminal, directoryOption)
}

type UpOptions = SecretFlags & {
  readonly restore?: string
  readonly nodes?: number
  readonly domain?: 'orch.io' | 'k8s.io'
  readonly dir: string
  readonly clientPort?: number
  readonly peerPort?: number
  readonly chaos?: boolean
  readonly timeout: number
}

function addSettings(program: Command, terminal: Terminal): void {
  const settings = program.command('settings').description('settings that all members share')
  settings
    .command('get')
    .description('show the settings and the storage usage')
    .addOption(kubeconfigOption())
    .addOption(outputOption())
    .action((options: { readonly kubeconfig: string; readonly output: Format }) =>
      settingsGet(terminal, options.kubeconfig, options.output),
    )
  settings
    .command('set')
    .description('change settings, for all members at once')
    .option('--storage-quota <size>', 'quota of objects and their history, such as 8Gi', bytes)
    .option('--object-size-max <size>', 'maximum size of an object, such as 1Mi', bytes)
    .option('--history-window <duration>', 'how long superseded versions stay readable, such as 5m', ms)
    .option('--history-events-min <number>', 'number of newest watch events to keep at least', count)
    .addOption(
      new Option(
        '--lease-reads <on|off>',
        'whether the leader may answer `Orch-Consistency: lease` from its lease: linearizable while the speed of clocks ' +
          'differs by less than a tenth; not for machines that are suspended while they run',
      ).choices(['on', 'off']),
    )
    .option(
      '--stale-access <duration>',
      'how long a member that reaches no quorum continues to authorize by the permissions that it knows, such as 30s; ' +
        'after that it responds with 503',
      ms,
    )
    .addOption(kubeconfigOption())
    .addOption(outputOption())
    .action((options: SetOptions) => {
      const change = {
        storageBytesMax: options.storageQuota,
        objectBytesMax: options.objectSizeMax,
        historyWindowMs: options.historyWindow,
        historyEventsMin: options.historyEventsMin,
        leaseReads: options.leaseReads === undefined ? undefined : options.leaseReads === 'on' ? 1 : 0,
        staleAccessMs: options.staleAccess,
      }
      return settingsSet(terminal, options.kubeconfig, change, options.output)
    })
}

type SetOptions = {
  readonly storageQuota?: number
  readonly objectSizeMax?: number
  readonly historyWindow?: number
  readonly historyEventsMin?: number
  readonly leaseReads?: 'on' | 'off'
  readonly staleAccess?: number
  readonly kubeconfig: string
  readonly output: Format
}

function bytes(text: string): number {
  const value = sizeBytes(text)
  if (value === null)
    throw new InvalidArgumentError('It must be a size such as 8Gi or 500Mi, or a number of bytes.')
  return value
}

function ms(text: string): number {
  const value = durationMs(text)
  if (value === null) throw new InvalidArgumentError('It must be a duration such as 5m or 1h30m.')
  return value
}

function count(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, at least 0.')
  return Number(text)
}

function directoryOption(): Option {
  return new Option('--dir <dir>', 'directory of the cluster').default(defaultDirectory)
}

function outputOption(): Option {
  return new Option('-o, --output <format>', 'output format').choices(['table', 'json']).default('table')
}

function kubeconfigOption(): Option {
  return new Option('--kubeconfig <file>', 'kubeconfig with the members and the credentials')
    .env('KUBECONFIG')
    .default(`${defaultDirectory}/admin.kubeconfig`)
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return value
  }
}
