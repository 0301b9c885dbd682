import { sizeText, durationText } from '../config/flag.ts'
import { CliFailure } from './errors.ts'
import { call, isRecord, jsonOf, readEndpoints } from './member-client.ts'
import type { Endpoint, Reply } from './member-client.ts'
import { formatTable } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

/** What shall be different; undefined: as it is. Bytes, ms. */
export type SettingsChange = {
  readonly storageBytesMax: number | undefined
  readonly objectBytesMax: number | undefined
  readonly historyWindowMs: number | undefined
  readonly historyEventsMin: number | undefined
}

const path = '/cluster/v1/settings'
const timeoutMs = 10_000

/** The replicated settings and how full the storage is, as the first member that answers has them. */
export async function settingsGet(terminal: Terminal, kubeconfig: string, format: Format): Promise<void> {
  const { endpoint, reply } = await firstReply(readEndpoints(kubeconfig), { method: 'GET', path })
  show(terminal, jsonOf(endpoint, reply), format)
}

export async function settingsSet(
  terminal: Terminal,
  kubeconfig: string,
  change: SettingsChange,
  format: Format,
): Promise<void> {
  const body = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  if (Object.keys(body).length === 0)
    throw new CliFailure('usage', 'nothing to set: see orchctl settings set --help')
  const { endpoint, reply } = await firstReply(readEndpoints(kubeconfig), { method: 'POST', path, body })
  show(terminal, jsonOf(endpoint, reply), format)
}

/** Setting the same twice is harmless, so a member that did not answer does not keep us from asking the next. */
async function firstReply(
  endpoints: readonly Endpoint[],
  what: Parameters<typeof call>[1],
): Promise<{ readonly endpoint: Endpoint; readonly reply: Reply }> {
  for (const endpoint of endpoints) {
    const reply = await call(endpoint, what, timeoutMs)
    if (reply !== null) return { endpoint, reply }
  }
  const names = endpoints.map(({ name }) => name).join(', ')
  throw new CliFailure('failed', `no member answers: asked ${names}`)
}

function show(terminal: Terminal, answer: Record<string, unknown>, format: Format): void {
  if (format === 'json') return terminal.print(JSON.stringify(answer, null, 2))
  const { settings, storage, featureLevel } = answer
  if (!isRecord(settings) || !isRecord(storage))
    throw new CliFailure('failed', 'the member answers no settings')
  const quota = settings['storageBytesMax']
  const rows = [
    ['SETTING', 'VALUE', 'FLAG OF settings set'],
    ['storage quota', quota === null ? 'none yet' : sizeText(numberOf(quota)), '--storage-quota'],
    ['largest object', sizeText(numberOf(settings['objectBytesMax'])), '--object-size-max'],
    ['history window', durationText(numberOf(settings['historyWindowMs'])), '--history-window'],
    ['newest events kept', String(numberOf(settings['historyEventsMin'])), '--history-events-min'],
  ]
  for (const line of formatTable(rows)) terminal.print(line)
  const full = storage['alarm'] === true ? ', full: only what makes room is accepted' : ''
  terminal.print('')
  terminal.print(
    `feature level ${numberOf(featureLevel)}, ${numberOf(storage['usedBytes'])} bytes used${full}`,
  )
  const resources = Array.isArray(storage['resources']) ? storage['resources'].filter(isRecord) : []
  const usage = resources.map((one) => [
    String(one['resource']),
    String(one['bytes']),
    String(one['objects']),
  ])
  for (const line of formatTable([['RESOURCE', 'BYTES', 'OBJECTS'], ...usage])) terminal.print(line)
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
