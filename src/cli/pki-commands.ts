import { Option } from 'commander'
import type { Command } from 'commander'
import { CliError, exitCodes } from './errors.ts'
import { parsePkiMembers, pkiInit } from './pki-init.ts'
import { pkiRenew } from './pki-renew.ts'
import { pkiRotate, rotatedAuthorities } from './pki-rotate.ts'
import type { RotatedAuthority } from './pki-rotate.ts'
import { rotateSigning } from './pki-rotate-signing.ts'
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
  addRotate(pki, terminal, shared)
  pki
    .command('renew')
    .description('renew the certificates of a directory now, with new keys; authorities stay')
    .requiredOption('--dir <dir>', 'directory of the keys, with those of the authorities')
    .addOption(shared.output())
    .action((options: { readonly dir: string; readonly output: Format }) => {
      if (!pkiRenew(terminal, options.dir, options.output)) result.code = exitCodes.failed
    })
}

function addRotate(pki: Command, terminal: Terminal, shared: SharedOptions): void {
  pki
    .command('rotate-ca')
    .description(
      'replace an authority in three steps, each by running this again: trust the next one, issue with it, and with --finish end the trust in the old one',
    )
    .option(
      '--dir <dir>',
      'directory of the keys, with those of the authorities; not needed for signing, which is in no file',
    )
    .addOption(
      new Option(
        '--authority <name>',
        'the authority to replace; signing is the CA for certificate requests, whose encrypted key all members share',
      )
        .choices([...rotatedAuthorities, 'signing'])
        .makeOptionMandatory(),
    )
    .option('--finish', 'take the last step: certificates of the old authority are refused', false)
    .option(
      '--offline',
      'do not check the certificates of the members, because none of them runs; refused if one does',
      false,
    )
    .addOption(shared.kubeconfig())
    .action(async (options: RotateOptions, command: Command) => {
      const { dir = null, authority, finish, offline } = options
      const isGiven = command.getOptionValueSource('kubeconfig') !== 'default'
      if (authority === 'signing' && offline) {
        throw new CliError('usage', 'the signing authority is in the state of the members: start them first')
      }
      if (authority !== 'signing' && dir === null) {
        throw new CliError('usage', `--authority ${authority} needs --dir, the directory of its key`)
      }
      const kubeconfig = kubeconfigOf(options.kubeconfig, isGiven, dir)
      if (kubeconfig === null && !offline) {
        throw new CliError(
          'usage',
          `${dir ?? ''} has no admin.kubeconfig to find the members with: give --kubeconfig`,
        )
      }
      if (authority !== 'signing' && dir !== null) {
        return pkiRotate(terminal, { directory: dir, authority, finish, offline, kubeconfig })
      }
      if (kubeconfig !== null) await rotateSigning(terminal, { kubeconfig, finish })
    })
}

type RotateOptions = {
  readonly dir?: string
  readonly authority: RotatedAuthority | 'signing'
  readonly finish: boolean
  readonly offline: boolean
  readonly kubeconfig: string
}

function addStatus(pki: Command, terminal: Terminal, result: { code: number }, shared: SharedOptions): void {
  pki
    .command('status')
    .description(
      'show when certificates expire, and whether they are renewed automatically; exit code 1 if one has expired or will within 7 days',
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
