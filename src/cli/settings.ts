import { isRecord } from '../../base/record.ts'
import { settingNames, settingsBounds, settingText } from '../config/settings-bounds.ts'
import type { SettingName } from '../config/settings-bounds.ts'
import { CliError } from './errors.ts'
import { call, jsonOf, readEndpoints } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import type { Reply } from './member-client.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

/** New values, in the units of their names; `leaseReads` is 1 for on. undefined: unchanged. */
export type SettingsChange = { readonly [Name in SettingName]: number | undefined }

const path = '/cluster/v1/settings'
const timeoutMs = 10_000
/** Attempts in case of concurrent changes to other settings. */
const attemptsMax = 5

const words: Readonly<Record<SettingName, { readonly label: string; readonly flag: string }>> = {
  storageBytesMax: { label: 'storage quota', flag: '--storage-quota' },
  objectBytesMax: { label: 'largest object', flag: '--object-size-max' },
  historyWindowMs: { label: 'history window', flag: '--history-window' },
  historyEventsMin: { label: 'newest events kept', flag: '--history-events-min' },
  leaseReads: { label: 'lease reads', flag: '--lease-reads' },
  staleAccessMs: { label: 'stale access', flag: '--stale-access' },
}

/** Prints the replicated settings and the storage usage. */
export async function settingsGet(terminal: Terminal, kubeconfig: string, format: Format): Promise<void> {
  show(terminal, await read(readEndpoints(kubeconfig)), format)
}

/**
 * Changes settings under the version that was read: a concurrent change of the same setting is a
 * conflict, one of another setting is retried.
 */
export async function settingsSet(
  terminal: Terminal,
  kubeconfig: string,
  change: SettingsChange,
  format: Format,
): Promise<void> {
  const wanted = wantedOf(change)
  const endpoints = readEndpoints(kubeconfig)
  const first = await read(endpoints)
  let known = first
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    // Members that run an older program return no version of the settings and ignore the condition.
    const version = typeof known['version'] === 'string' ? { version: known['version'] } : {}
    const body = { ...version, ...Object.fromEntries(wanted) }
    const { endpoint, reply } = await firstReply(endpoints, { method: 'POST', path, body })
    if (reply.status !== conflict) return show(terminal, answerOf(endpoint, reply), format)
    known = await read(endpoints)
    const now = settingsOf(known)
    // A member may have made the change and ended before its response.
    if (wanted.every(([name, value]) => now[name] === value)) return show(terminal, known, format)
    checkUnchanged(wanted, settingsOf(first), now)
  }
  throw new CliError('failed', 'settings not changed: too many conflicting updates, try again')
}

const conflict = 409

type SettingValues = readonly (readonly [SettingName, number])[]

/** @throws CliError `usage` */
function wantedOf(change: SettingsChange): SettingValues {
  const wanted = settingNames.flatMap((name) => {
    const value = change[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  if (wanted.length === 0) throw new CliError('usage', 'nothing to set: see orchctl settings set --help')
  for (const [name, value] of wanted) {
    const { min, max } = settingsBounds[name]
    if (value >= min && value <= max) continue
    const range = `from ${settingText(name, min)} to ${settingText(name, max)}`
    throw new CliError('usage', `${words[name].flag} ${settingText(name, value)}: it must be ${range}`)
  }
  return wanted
}

/** @throws CliError `failed` when the same settings were changed concurrently */
function checkUnchanged(
  wanted: SettingValues,
  was: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
): void {
  const changed = wanted
    .filter(([name, value]) => now[name] !== was[name] && now[name] !== value)
    .map(
      ([name]) => `${words[name].flag} from ${shownValue(name, was[name])} to ${shownValue(name, now[name])}`,
    )
  if (changed.length === 0) return
  throw new CliError(
    'failed',
    `settings not changed: conflict with a concurrent change of ${changed.join(' and ')} ` +
      '(see "settings changed" in the log of a member); run the command again to override it',
  )
}

/** @throws CliError `failed` */
async function read(endpoints: readonly Endpoint[]): Promise<Record<string, unknown>> {
  const { endpoint, reply } = await firstReply(endpoints, { method: 'GET', path })
  return answerOf(endpoint, reply)
}

/** @throws CliError `failed` with names of flags */
function answerOf(endpoint: Endpoint, reply: Reply): Record<string, unknown> {
  try {
    return jsonOf(endpoint, reply)
  } catch (cause) {
    if (!(cause instanceof CliError)) throw cause
    let { message } = cause
    for (const name of settingNames) message = message.replaceAll(name, words[name].flag)
    throw new CliError(cause.code, message, { cause })
  }
}

/** Tries the next member when one does not respond: the version makes the request idempotent. */
async function firstReply(
  endpoints: readonly Endpoint[],
  what: Parameters<typeof call>[1],
): Promise<{ readonly endpoint: Endpoint; readonly reply: Reply }> {
  for (const endpoint of endpoints) {
    const reply = await call(endpoint, what, timeoutMs)
    if (reply !== null) return { endpoint, reply }
  }
  const names = endpoints.map(({ name }) => name).join(', ')
  throw new CliError('failed', `no member answers: tried ${names}`)
}

function show(terminal: Terminal, answer: Record<string, unknown>, format: Format): void {
  if (format === 'json') return terminal.print(JSON.stringify(answer, null, 2))
  const { storage, featureLevel } = answer
  const settings = settingsOf(answer)
  if (!isRecord(storage)) throw new CliError('failed', 'the response has no storage')
  const rows = settingNames.map((name) => [
    words[name].label,
    shownValue(name, settings[name]),
    words[name].flag,
  ])
  for (const line of formatTable([['SETTING', 'VALUE', 'FLAG OF settings set'], ...rows]))
    terminal.print(line)
  const full = storage['alarm'] === true ? ', full: only writes that free space are accepted' : ''
  terminal.print('')
  terminal.print(
    `feature level ${numberOf(featureLevel)}, ${numberOf(storage['usedBytes'])} bytes used${full}`,
  )
  const usage = recordsOf(storage['places']).map((one) => [
    String(one['resource']),
    typeof one['namespace'] === 'string' ? one['namespace'] : '-',
    String(one['bytes']),
    String(one['objects']),
  ])
  const head = ['RESOURCE', 'NAMESPACE', 'BYTES WITH HISTORY', 'OBJECTS']
  for (const line of formatTable([head, ...usage])) terminal.print(line)
}

function settingsOf({ settings }: Record<string, unknown>): Readonly<Record<string, unknown>> {
  if (!isRecord(settings)) throw new CliError('failed', 'the response has no settings')
  return settings
}

function shownValue(name: SettingName, value: unknown): string {
  return value === null || value === undefined ? 'none yet' : settingText(name, numberOf(value))
}

function recordsOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
