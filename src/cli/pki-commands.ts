import type { Command } from 'commander'
import { exitCodes } from './errors.ts'
import { parsePkiMembers, pkiInit } from './pki-init.ts'
import { pkiRenew } from './pki-renew.ts'
import { kubeconfigOf, pkiStatus } from './pki-status.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import type { Format, Terminal } from './terminal.ts'

/** `orchctl pki` and its options. */
export function addPki(
  program: Command,
  terminal: Terminal,
  result: { code: number },
  shared: SharedOptions,
): void {
  const pki = program.command('pki').description('keys and certificates of a cluster')
  pki
    .command('init')
    .description('create the missing keys and certificates of a cluster; check and keep the existing ones')
    .requiredOption('--dir <dir>', 'directory of the keys; copy what a member needs to its host')
    .requiredOption('--members <list>', 'NAME=HOST[+HOST…][:PORT], separated by commas')
    .addOption(shared.output())
    .action((options: { readonly dir: string; readonly members: string; readonly output: Format }) => {
      const members = parsePkiMembers(options.members)
      pkiInit(terminal, { dir: options.dir, members, format: options.output })
    })
  addStatus(pki, terminal, result, shared)
  pki
    .command('renew')
    .description('renew the certificates of a directory now, with new keys; authorities stay')
    .requiredOption('--dir <dir>', 'directory of the keys, with those of the authorities')
    .addOption(shared.output())
    .action((options: { readonly dir: string; readonly output: Format }) => {
      if (!pkiRenew(terminal, options.dir, options.output)) result.code = exitCodes.failed
    })
}

function addStatus(pki: Command, terminal: Terminal, result: { code: number }, shared: SharedOptions): void {
  pki
    .command('status')
    .description(
      'show when certificates expire, and whether they are renewed by themselves; exit code 1 if one has expired or will within 7 days',
    )
    .option('--dir <dir>', 'show the files of this directory, too')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action(async (options: StatusOptions, command: Command) => {
      const isGiven = command.getOptionValueSource('kubeconfig') !== 'default'
      const ok = await pkiStatus(terminal, {
        directory: options.dir ?? null,
        kubeconfig: kubeconfigOf(options.kubeconfig, isGiven, options.dir ?? null),
        format: options.output,
      })
      if (!ok) result.code = exitCodes.failed
    })
}

type StatusOptions = { readonly dir?: string; readonly kubeconfig: string; readonly output: Format }
