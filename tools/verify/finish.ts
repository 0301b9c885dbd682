import type { Clock } from '../../base/clock.ts'
import { isJsonList, isJsonObject } from '../../src/api/json.ts'
import { Connection } from './connection.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import type { Answer, Version } from './history.ts'
import { verifyLimits } from './limits.ts'
import { pause } from './pause.ts'
import type { Recorder } from './recorder.ts'
import { sideOf } from './sides.ts'
import type { Side } from './sides.ts'
import { answerOf, callRequest, digestOf } from './wire.ts'
import type { VerifyWatcher } from './watcher.ts'

const client = 'closing'
const retryMs = 100
/**
 * Number of final writes. There are several, because a missed change is only detected by a later
 * event.
 */
const marks = 3

type FinishOptions = {
  readonly recorder: Recorder
  readonly clock: Clock
  readonly endpoints: readonly Endpoint[]
  readonly timeoutMs: number
}

/**
 * Completes a recording: sends a few final writes, waits until each watch has reported those that
 * it selects, and records two lists of each member: a most recent one, and a copy of all objects at
 * one revision, the same for all members.
 *
 * @returns the revision of the last write; null: not all were acknowledged in time
 */
export async function finish(
  options: FinishOptions,
  watchers: readonly VerifyWatcher[],
): Promise<number | null> {
  const { recorder, clock } = options
  const endMs = clock.monotonicMs() + verifyLimits.settleMsMax
  const written = await writeMarks(options, endMs)
  const lastOf = (side: Side | null): number =>
    written.findLast(({ token }) => side === null || sideOf(token) === side)?.revision ?? 0
  if (written.length === marks) {
    const catchUpMs = clock.monotonicMs() + verifyLimits.catchUpMsMax
    for (const watcher of watchers) watcher.settle()
    while (watchers.some(({ position, side }) => position < lastOf(side)) && clock.monotonicMs() < catchUpMs)
      await pause(clock, 20)
  }
  for (const [at, endpoint] of options.endpoints.entries()) await listLast(options, { endpoint, at, endMs })
  // The same revision on every member makes the copies comparable.
  const revision = recorder.newest
  for (const endpoint of options.endpoints) await copy(options, { endpoint, revision, endMs })
  return written.length === marks ? lastOf(null) : null
}

async function writeMarks(
  { recorder, clock, endpoints, timeoutMs }: FinishOptions,
  endMs: number,
): Promise<readonly Version[]> {
  const made: Version[] = []
  for (let turn = 0; clock.monotonicMs() < endMs; turn++) {
    const endpoint = endpoints[turn % endpoints.length]
    if (endpoint === undefined) break
    const connection = new Connection(endpoint, clock)
    const name = `${recorder.place.prefix}z-end-${turn}`
    const request = { kind: 'create', name, token: `${client}-${turn}` } as const
    const { answer } = await recorder.call(client, connection, request, { timeoutMs })
    connection.close()
    if (answer.kind !== 'object') await pause(clock, retryMs)
    else if (made.push(answer.version) === marks) break
  }
  return made
}

type CopyTarget = { readonly endpoint: Endpoint; readonly endMs: number }

async function listLast(
  { recorder, clock, timeoutMs }: FinishOptions,
  { endpoint, at, endMs }: CopyTarget & { readonly at: number },
): Promise<void> {
  const connection = new Connection(endpoint, clock)
  for (let turn = 0; ; turn++) {
    const list = at * 1_000_000 + turn
    const request = { kind: 'list', mode: { kind: 'most-recent' }, limit: null, list, page: 0 } as const
    const { answer } = await recorder.call(client, connection, request, { timeoutMs })
    if (answer.kind === 'list' || clock.monotonicMs() >= endMs) break
    await pause(clock, retryMs)
  }
  connection.close()
}

async function copy(
  { recorder, clock, timeoutMs }: FinishOptions,
  { endpoint, revision, endMs }: CopyTarget & { readonly revision: number },
): Promise<void> {
  if (revision === 0) return
  const request = { kind: 'list', mode: { kind: 'exact', revision }, limit: null, list: 0, page: 0 } as const
  const connection = new Connection(endpoint, clock)
  for (;;) {
    const reply = await connection.ask(callRequest(request, recorder.place, null), timeoutMs)
    const answer: Answer = answerOf(request, reply, recorder.place).answer
    if (answer.kind === 'list' && reply.kind === 'reply') {
      const { versions, revision: shown } = answer
      recorder.copy({ member: endpoint.name, revision: shown, digest: itemsDigest(reply.body), versions })
      break
    }
    if (clock.monotonicMs() >= endMs) break
    await pause(clock, retryMs)
  }
  connection.close()
}

/** Returns a digest of the items only; other fields of a list, such as `selfLink`, may differ. */
function itemsDigest(body: string): string {
  const value: unknown = JSON.parse(body)
  const items = isJsonObject(value) ? value['items'] : null
  return digestOf(isJsonList(items) ? JSON.stringify(items) : body)
}
