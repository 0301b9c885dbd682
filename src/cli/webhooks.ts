import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { isRecord } from '../../base/record.ts'
import { durationMs } from '../config/flag.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { CliError } from './errors.ts'
import { call, jsonOf, readEndpoints } from './member-client.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

const path = '/cluster/v1/webhooks'
const timeoutMs = 10_000
const DAY_MS = 24 * 3_600_000

type Options = { readonly kubeconfig: string; readonly output: Format }
type ChangeOptions = Options & { readonly type?: 'mutating' | 'validating' }

/** Adds the commands about admission webhooks. */
export function addWebhooks(program: Command, terminal: Terminal, shared: SharedOptions): void {
  const webhooks = program
    .command('webhooks')
    .description(
      'webhooks for admission and conversion: show their calls, and suspend one that blocks writes',
    )
  webhooks
    .command('list')
    .description('show each webhook with rate, duration, failures, state, and the requests that depend on it')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((options: Options) => list(terminal, options))
  changing(webhooks.command('suspend'), shared)
    .description(
      'do not call the admission webhooks of a configuration for a time, on all members; writes pass with a warning',
    )
    .requiredOption('--for <duration>', 'from 1s to 24h, such as 10m; it ends by itself', suspension)
    .action((configuration: string, options: ChangeOptions & { readonly for: string }) =>
      change(terminal, options, { change: 'suspend', configuration, for: options.for }),
    )
  changing(webhooks.command('resume'), shared)
    .description('call the webhooks of a suspended configuration again')
    .action((configuration: string, options: ChangeOptions) =>
      change(terminal, options, { change: 'resume', configuration }),
    )
}

function changing(command: Command, shared: SharedOptions): Command {
  return command
    .argument('<configuration>', 'name of the configuration')
    .addOption(
      new Option(
        '--type <type>',
        'type of the configuration; needed if both types have one of that name',
      ).choices(['mutating', 'validating']),
    )
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
}

function suspension(text: string): string {
  const ms = durationMs(text)
  if (ms !== null && ms >= 1000 && ms <= DAY_MS) return text
  throw new InvalidArgumentError('It is a duration from 1s to 24h, such as 10m.')
}

/** Shows the calls of all members that respond. @throws CliError `failed`: none does */
async function list(terminal: Terminal, { kubeconfig, output }: Options): Promise<void> {
  const endpoints = readEndpoints(kubeconfig)
  const replies = await Promise.all(endpoints.map((endpoint) => answerOf(endpoint)))
  const answers = replies.flatMap((reply) => (reply === null ? [] : [reply]))
  if (answers.length === 0) throw silent(endpoints)
  for (const [at, reply] of replies.entries()) {
    if (reply === null)
      terminal.note(`orchctl: ${endpoints[at]?.name ?? ''} does not answer, its calls are missing`)
  }
  const rows = mergedWebhooks(answers)
  if (output === 'json') terminal.print(JSON.stringify({ webhooks: rows }, null, 2))
  else for (const line of webhookTable(rows)) terminal.print(line)
}

async function answerOf(endpoint: Endpoint): Promise<Record<string, unknown> | null> {
  const reply = await call(endpoint, { method: 'GET', path }, timeoutMs)
  return reply === null ? null : jsonOf(endpoint, reply)
}

async function change(terminal: Terminal, options: ChangeOptions, body: object): Promise<void> {
  const { kubeconfig, output, type } = options
  const endpoints = readEndpoints(kubeconfig)
  for (const endpoint of endpoints) {
    // The change may be made twice without harm.
    const wanted = { ...body, ...(type === undefined ? {} : { type }) }
    const reply = await call(endpoint, { method: 'POST', path, body: wanted }, timeoutMs)
    if (reply === null) continue
    const rows = mergedWebhooks([jsonOf(endpoint, reply)])
    if (output === 'json') terminal.print(JSON.stringify({ webhooks: rows }, null, 2))
    else for (const line of webhookTable(rows)) terminal.print(line)
    return
  }
  throw silent(endpoints)
}

function silent(endpoints: readonly Endpoint[]): CliError {
  return new CliError('failed', `no member answers: tried ${endpoints.map(({ name }) => name).join(', ')}`)
}

/** One webhook, with the calls of several members together. */
export type WebhookRow = {
  readonly type: string
  readonly configuration: string
  readonly name: string
  readonly failurePolicy: string
  readonly rules: readonly string[]
  readonly isSelective: boolean
  readonly suspendedUntil: string | null
  readonly perSecond: number
  /** Average, weighted by the calls that each member made; null: no call yet. */
  readonly averageMs: number | null
  readonly allowed: number
  readonly denied: number
  readonly failed: number
  readonly skipped: number
  /** Members whose circuit breaker is not closed. */
  readonly openOn: readonly string[]
  readonly lastFailure: string | null
}

/**
 * Merges the webhooks that the members reported, and adds up their calls.
 *
 * @param answers one of each member
 */
export function mergedWebhooks(answers: readonly Record<string, unknown>[]): readonly WebhookRow[] {
  const rows = new Map<string, WebhookRow>()
  for (const { member, webhooks } of answers) {
    for (const one of Array.isArray(webhooks) ? webhooks.filter(isRecord) : []) {
      const row = rowOf(String(member), one)
      const key = `${row.type}/${row.configuration}/${row.name}`
      const known = rows.get(key)
      rows.set(key, known === undefined ? row : together(known, row))
    }
  }
  return [...rows.values()]
}

function rowOf(member: string, one: Readonly<Record<string, unknown>>): WebhookRow {
  const { lastFailure, rules, averageMs, suspendedUntil } = one
  return {
    type: String(one['type']),
    configuration: String(one['configuration']),
    name: String(one['name']),
    failurePolicy: String(one['failurePolicy']),
    rules: Array.isArray(rules) ? rules.map(String) : [],
    isSelective: one['isSelective'] === true,
    suspendedUntil: typeof suspendedUntil === 'string' ? suspendedUntil : null,
    perSecond: numberOf(one['perSecond']),
    averageMs: typeof averageMs === 'number' ? averageMs : null,
    allowed: numberOf(one['allowed']),
    denied: numberOf(one['denied']),
    failed: numberOf(one['failed']),
    skipped: numberOf(one['skipped']),
    openOn: one['state'] === 'closed' ? [] : [member],
    lastFailure: isRecord(lastFailure)
      ? `${String(lastFailure['time'])} ${String(lastFailure['why'])}`
      : null,
  }
}

function together(a: WebhookRow, b: WebhookRow): WebhookRow {
  return {
    ...a,
    perSecond: a.perSecond + b.perSecond,
    averageMs: averageOf(a, b),
    allowed: a.allowed + b.allowed,
    denied: a.denied + b.denied,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    openOn: [...a.openOn, ...b.openOn],
    // Times of the same form compare as texts.
    lastFailure: (a.lastFailure ?? '') > (b.lastFailure ?? '') ? a.lastFailure : b.lastFailure,
  }
}

function averageOf(a: WebhookRow, b: WebhookRow): number | null {
  if (a.averageMs === null || b.averageMs === null) return a.averageMs ?? b.averageMs
  const [callsOfA, callsOfB] = [madeCalls(a), madeCalls(b)]
  return (a.averageMs * callsOfA + b.averageMs * callsOfB) / (callsOfA + callsOfB)
}

/** Returns the number of calls that took time: at least one, because there is an average. */
function madeCalls({ allowed, denied, failed }: WebhookRow): number {
  return Math.max(1, allowed + denied + failed)
}

function webhookTable(rows: readonly WebhookRow[]): readonly string[] {
  const head = [
    ...['CONFIGURATION', 'WEBHOOK', 'TYPE', 'POLICY', 'CALLS/S', 'AVERAGE', 'DENIED', 'FAILED', 'STATE'],
    'DEPENDS ON IT',
  ]
  const table = formatTable([head, ...rows.map(cellsOf)])
  const failures = rows.flatMap(({ name, lastFailure }) =>
    lastFailure === null ? [] : [`last failure of ${name}: ${lastFailure}`],
  )
  return failures.length === 0 ? table : [...table, '', ...failures]
}

function cellsOf(row: WebhookRow): readonly string[] {
  return [
    row.configuration,
    row.name,
    row.type,
    row.failurePolicy,
    row.perSecond.toFixed(1),
    row.averageMs === null ? '-' : `${row.averageMs.toFixed(1)}ms`,
    String(row.denied),
    row.skipped === 0 ? String(row.failed) : `${row.failed} (${row.skipped} not called)`,
    stateOf(row),
    `${row.rules.join('; ')}${row.isSelective ? ' (selected)' : ''}`,
  ]
}

function stateOf({ suspendedUntil, openOn }: WebhookRow): string {
  if (suspendedUntil !== null) return `suspended until ${suspendedUntil}`
  return openOn.length === 0 ? 'called' : `failing on ${openOn.join(',')}`
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
