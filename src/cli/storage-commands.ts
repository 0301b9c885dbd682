import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { ApiClient } from './api-client.ts'
import { CliError, exitCodes } from './errors.ts'
import { onInterrupt } from './interrupts.ts'
import { readEndpoints } from './member-client.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import { StorageMigration } from './storage-migration.ts'
import type { MigrationCounts, MigrationResult } from './storage-migration.ts'
import { storageTargets } from './storage-targets.ts'
import type { StorageTarget } from './storage-targets.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

type MigrateOptions = {
  readonly all: boolean
  readonly dryRun: boolean
  readonly rate: number
  readonly pageSize: number
  readonly kubeconfig: string
  readonly output: Format
}

/** Maximum number of concurrent requests. `--rate` limits the objects updated per second. */
const CONCURRENCY = 8
/** Ms between two lines of progress. */
const PROGRESS_MS = 2000

/** Adds the commands about the versions that objects are stored in. */
export function addStorage(
  program: Command,
  terminal: Terminal,
  result: { code: number },
  shared: SharedOptions,
): void {
  program
    .command('storage')
    .description('the versions that objects are stored in')
    .command('migrate')
    .description(
      'store every object in the storage version of its kind, so that older versions can be removed',
    )
    .argument('[resource...]', 'such as crontabs.example.com')
    .option('--all', 'all custom kinds, and built-in kinds that have several versions', false)
    .option('--dry-run', 'convert and validate every object, but store nothing', false)
    .option('--rate <count>', 'objects per second', whole(1, 100_000), 200)
    .option('--page-size <count>', 'objects per list request', whole(1, 10_000), 500)
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .addHelpText('after', teaching)
    .action(async (names: readonly string[], options: MigrateOptions) => {
      if (!(await migrate(terminal, names, options))) result.code = exitCodes.failed
    })
}

const teaching = `
A CustomResourceDefinition has one storage version. When it changes, objects that exist stay as they were stored, and
status.storedVersions of the definition lists every version that objects may still be in: a version in that list cannot be
removed from the definition. This command shortens the list:

  1. Add the new version to the definition, and make it the storage version.
  2. orchctl storage migrate RESOURCE
     updates each object without changes, which stores it in the storage version. Objects that clients change or delete
     in the meantime are not harmed. In the end, status.storedVersions has the storage version only.
  3. Set served: false for the old version, wait until no client needs it, and remove it.

It also encrypts: an object of a resource that --encryption-provider-config names is written if it is not encrypted with the
first key of that resource.

If a webhook converts the objects, it must respond. Admission webhooks and validation see the updates, and may refuse them:
such objects are listed, and status.storedVersions stays as it is. An interrupted command is continued by running it again:
objects that are in the storage version already are not written. It needs the permissions to list and patch the objects, and
to read customresourcedefinitions and patch customresourcedefinitions/status.

Examples:
  orchctl storage migrate crontabs.example.com --dry-run
  orchctl storage migrate crontabs.example.com
  orchctl storage migrate --all --rate 50

Exit codes: 0 all objects are in the storage version, or could be (--dry-run), 1 some are not, or it failed or was
interrupted, 2 the command line is wrong.`

/** @returns whether everything is migrated */
async function migrate(
  terminal: Terminal,
  names: readonly string[],
  options: MigrateOptions,
): Promise<boolean> {
  if (options.all === names.length > 0) {
    throw new CliError('usage', 'state resources, or --all: see orchctl storage migrate --help')
  }
  const { clock } = terminal
  const client = new ApiClient(readEndpoints(options.kubeconfig), clock, CONCURRENCY)
  const state = { isInterrupted: false }
  const stop = onInterrupt(clock, () => {
    state.isInterrupted = true
    terminal.note('interrupted: run the command again to go on')
  })
  try {
    const { targets, metaGroup } = await storageTargets(client, { names, all: options.all })
    const results: MigrationResult[] = []
    for (const target of targets) {
      if (state.isInterrupted) break
      const { dryRun, pageSize, rate } = options
      const migration = new StorageMigration(
        target,
        { dryRun, pageSize, rate, concurrency: CONCURRENCY, metaGroup },
        { client, clock, progress: progressOf(terminal, target), isInterrupted: () => state.isInterrupted },
      )
      results.push(await migration.run())
    }
    show(terminal, results, options.output)
    const isDone = results.every(({ outcome }) => outcome === 'migrated' || outcome === 'checked')
    return isDone && results.length === targets.length
  } finally {
    stop()
    client.close()
  }
}

function progressOf(
  { clock, note }: Terminal,
  { resource }: StorageTarget,
): (counts: MigrationCounts) => void {
  let shownMs = clock.monotonicMs()
  return ({ objects, written, failed }) => {
    const nowMs = clock.monotonicMs()
    if (nowMs - shownMs < PROGRESS_MS) return
    shownMs = nowMs
    note(`${resource}: ${objects} objects, ${written} written, ${failed} failed`)
  }
}

function show(terminal: Terminal, results: readonly MigrationResult[], output: Format): void {
  if (output === 'json') {
    const shown = results.map(({ target: { resource, storedAs }, ...rest }) => ({
      resource,
      storedAs,
      ...rest,
    }))
    terminal.print(JSON.stringify({ resources: shown }, null, 2))
    return
  }
  const head = ['RESOURCE', 'STORED AS', 'OBJECTS', 'WRITTEN', 'FAILED', 'STORED VERSIONS', 'RESULT']
  const rows = results.map(({ target, objects, written, failed, storedVersions, outcome }) => [
    ...[target.resource, target.storedAs, String(objects), outcome === 'checked' ? '-' : String(written)],
    ...[String(failed), storedVersions.join(',') || '-', outcome],
  ])
  for (const line of formatTable([head, ...rows])) terminal.print(line)
  for (const { target, failures } of results)
    for (const line of failures) terminal.note(`${target.resource} ${line}`)
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,10}$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}
