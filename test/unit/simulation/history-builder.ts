import { encodeEnvelope, logIndex, term } from '../../../raft/index.ts'
import { encodeCommand } from '../../../src/store/command-codec.ts'
import type { Command, Operation } from '../../../src/store/command.ts'
import { keyOf } from '../../../src/store/key.ts'
import { revision } from '../../../src/store/revision.ts'
import { Truth } from '../../simulation/checkers/truth.ts'
import { History } from '../../simulation/clients/history.ts'
import type { Answer, Call, Request, WatchRecord } from '../../simulation/clients/history.ts'
import type { ObservedObject } from '../../simulation/clients/observed-object.ts'
import { split } from '../../simulation/clients/verbs.ts'

/** Builds a true history and the responses to clients by hand. */
export class HistoryBuilder {
  readonly truth = new Truth()
  /** The virtual time at which calls end. */
  nowMs = 0
  readonly history = new History(
    () => this.truth,
    () => this.nowMs,
  )
  #sequence = 1

  constructor() {
    const settings = {
      historyWindowMs: 1000,
      historyEventsMin: 0,
      objectBytesMax: 9999,
      storageBytesMax: null,
    }
    this.#commit({ kind: 'change-settings', settings })
  }

  /** @returns the revision of the write */
  write(key: string, token: string, more: { readonly color?: string; readonly uid?: string } = {}): number {
    return this.writeTogether([key], token, more)
  }

  writeTogether(
    keys: readonly string[],
    token: string,
    more: { readonly color?: string; readonly uid?: string } = {},
  ): number {
    this.#commit({ kind: 'write', operations: keys.map((key) => put(key, token, more)) })
    return this.truth.revision
  }

  remove(key: string): number {
    this.#commit({ kind: 'write', operations: [{ kind: 'delete', key: storeKey(key), conditions: [] }] })
    return this.truth.revision
  }

  trim(upTo: number): void {
    this.#commit({ kind: 'trim', upTo: revision(upTo) })
  }

  /** Returns the version as a client gets it. */
  shown(at: number): ObservedObject {
    const version = this.truth.version(at)
    if (version === undefined) throw new Error(`there is no revision ${at}`)
    return this.truth.shown(version)
  }

  object(at: number): Answer {
    return { kind: 'object', object: this.shown(at) }
  }

  list(at: number, shown: readonly number[], more = false, remaining: number | null = null): Answer {
    return { kind: 'list', revision: at, objects: shown.map((one) => this.shown(one)), more, remaining }
  }

  /** Adds a call that ends before the next one begins. */
  call(
    request: Request,
    answer: Answer,
    by: { readonly client?: number; readonly process?: number } = {},
  ): Call {
    const call = this.begin(request, by)
    this.history.end(call, answer)
    return call
  }

  begin(request: Request, by: { readonly client?: number; readonly process?: number } = {}): Call {
    const { client = 1, process = 1 } = by
    return this.history.begin({ client, member: process, process }, request)
  }

  watch(record: Partial<WatchRecord> & Pick<WatchRecord, 'events' | 'start'>): void {
    this.history.watches.push({
      ...{ watcher: 'w', member: 1, range: { namespace: null, color: null }, mode: { kind: 'any' } },
      ...{ begin: this.history.now(), proof: null },
      ...record,
    })
  }

  #commit(command: Command): void {
    const index = logIndex(this.truth.index + 1)
    const data = encodeEnvelope({
      ...{ session: 1, sequence: this.#sequence++, acknowledgedBelow: 1, expectedTerm: term(1) },
      payload: encodeCommand(command),
    })
    this.truth.committed({ index, term: term(1), kind: 'command', data })
  }
}

export const refused = (reason: string, of = 'configmaps'): Answer => ({ kind: 'refused', reason, of })
export const unknown: Answer = { kind: 'unknown' }
export const done: Answer = { kind: 'done', revisions: [] }

function storeKey(key: string): ReturnType<typeof keyOf> {
  return keyOf({ group: '', plural: 'configmaps', ...split(key) })
}

function put(
  key: string,
  token: string,
  more: { readonly color?: string; readonly uid?: string },
): Operation {
  const { namespace, name } = split(key)
  const color = more.color ?? 'red'
  const uid = more.uid ?? `uid of ${key}`
  const start = '{"kind":"ConfigMap","apiVersion":"v1",'
  const before = `${start}"metadata":{"name":"${name}","namespace":"${namespace}","uid":"${uid}","resourceVersion":"`
  const after = `","labels":{"color":"${color}"}},"data":{"token":"${token}"}}`
  const object = {
    ...{ bytes: Buffer.from(before + after), revisionOffset: before.length, itemOffset: start.length },
    ...{ uid, terminating: false, labels: { color } },
  }
  return { kind: 'put', key: storeKey(key), conditions: [], object }
}
