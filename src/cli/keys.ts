import { Argument, InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { isRecord } from '../../base/record.ts'
import { durationMs, durationText } from '../config/flag.ts'
import { askOnce } from './ask-once.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

const path = '/cluster/v1/signing-keys'
/** Bounds of the rotation age: a day and ten years. */
const AGE_MS_MIN = 24 * 3_600_000
const AGE_MS_MAX = 3650 * AGE_MS_MIN

type Options = { readonly kubeconfig: string; readonly output: Format }

/** Adds the commands about the keys that members share. */
export function addKeys(program: Command, terminal: Terminal, shared: SharedOptions): void {
  const keys = program
    .command('keys')
    .description('keys that sign service account tokens; all members share them, encrypted')
  keys
    .command('list')
    .description('show the keys and how often they rotate')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action(async (options: Options) => show(terminal, await ask(options), options.output))
  keys
    .command('rotate')
    .description('add a key, which signs after some seconds; tokens of earlier keys stay valid')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((options: Options) => change(terminal, options, { change: 'rotate' }))
  keys
    .command('revoke')
    .description(
      'remove a key: its tokens are invalid on all members within a second, and Secrets with such tokens get new ones',
    )
    .argument('<id>', 'ID of the key, as keys list shows it; write -- before an ID that begins with -')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((id: string, options: Options) => change(terminal, options, { change: 'revoke', id }))
  keys
    .command('set-rotation')
    .description('set the age at which a new key replaces the one that signs')
    .addArgument(new Argument('<age>', 'a duration of at least 24h such as 720h, or never').argParser(age))
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((rotationMs: number, options: Options) =>
      change(terminal, options, { change: 'set-rotation', rotationMs }),
    )
}

function age(text: string): number {
  if (text === 'never') return 0
  const value = durationMs(text)
  if (value !== null && value >= AGE_MS_MIN && value <= AGE_MS_MAX) return value
  throw new InvalidArgumentError('It must be never, or a duration from 24h to 87600h, such as 720h.')
}

async function change(terminal: Terminal, options: Options, body: object): Promise<void> {
  show(terminal, await ask(options, body), options.output)
}

function ask({ kubeconfig }: Options, body?: object): Promise<Record<string, unknown>> {
  return askOnce(kubeconfig, { path, check: 'orchctl keys list' }, body)
}

function show(terminal: Terminal, answer: Record<string, unknown>, format: Format): void {
  if (format === 'json') return terminal.print(JSON.stringify(answer, null, 2))
  const { keys, rotationMs } = answer
  const rows = (Array.isArray(keys) ? keys.filter(isRecord) : []).map((key) => [
    ...['id', 'use', 'created', 'signsFrom'].map((name) => String(key[name])),
    Array.isArray(key['members']) ? String(key['members'].length) : '0',
  ])
  const head = ['ID', 'USE', 'CREATED', 'SIGNS FROM', 'MEMBERS WITH THE PRIVATE KEY']
  for (const line of formatTable([head, ...rows])) terminal.print(line)
  terminal.print('')
  const every = typeof rotationMs === 'number' && rotationMs > 0
  terminal.print(every ? `a new key every ${durationText(rotationMs)}` : 'no rotation by age')
}
