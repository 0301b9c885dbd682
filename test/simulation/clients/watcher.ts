import { ApiError } from '../../../src/api/errors/api-error.ts'
import type { SeededRandom } from '../../../base/random.ts'
import type { WatchStream } from '../../../src/registry/calls/verb.ts'
import type { ReadProof } from '../../../src/registry/calls/consistency.ts'
import { headerOf } from '../../../tools/verify/wire.ts'
import type { World } from '../world.ts'
import { ask } from './connection.ts'
import type { History, Mode, Range, WatchedEvent, WatchRecord } from './history.ts'
import type { Served } from './served.ts'
import { observedObject } from './observed-object.ts'
import type { Doc } from './observed-object.ts'
import { definitionOf, queryOf, queryOfMode, selector, targetOf } from './verbs.ts'

export type WatcherOptions = {
  readonly world: World
  readonly history: History
  readonly name: string
  readonly range: Range
  readonly serving: () => readonly Served[]
  readonly newest: () => { readonly revision: number; readonly trimmed: number }
}

/** Interval of the check whether the connection is alive. */
const pollMs = 150

type Connection = {
  readonly served: Served
  readonly stream: WatchStream
  readonly record: WatchRecord
  readonly latencyMs: number
  ended: boolean
}

/**
 * A client that watches a range permanently: it starts with the state or after a revision, resumes
 * at any member from its last event, and records all events.
 */
export class Watcher {
  readonly #options: WatcherOptions
  readonly #random: SeededRandom
  /** Everything up to here was received; null: it needs the state first. */
  #position: number | null = null
  #connection: Connection | null = null
  #asking = false

  constructor(options: WatcherOptions) {
    this.#options = options
    this.#random = options.world.random.fork()
  }

  /** Null while its position is unknown. */
  get position(): number | null {
    return this.#position
  }

  start(): void {
    this.#options.world.schedule(pollMs, 'watcher looks', null, () => {
      this.#poll()
      this.start()
    })
  }

  #poll(): void {
    const connection = this.#connection
    if (this.#asking) return
    if (connection !== null && !connection.ended && !connection.served.gone) {
      const stays = this.#options.serving().includes(connection.served) && !this.#random.chance(0.03)
      if (stays) return
      // The client changes to another member.
      this.#closeConnection(connection)
    }
    this.#connection = null
    const all = this.#options.serving()
    if (all.length > 0) this.#connect(this.#random.pick(all))
  }

  #closeConnection(connection: Connection): void {
    connection.ended = true
    const { served, stream } = connection
    this.#options.world.schedule(0, 'hangs up', served.owner, () => stream.close())
  }

  #connect(served: Served): void {
    const { world, history, name, range } = this.#options
    const random = this.#random
    // To a server 0 means any state, not the state before the first change.
    const after = this.#position === 0 ? null : this.#position
    const mode = after === null ? this.#stateMode() : { kind: 'exact' as const, revision: after }
    const marked = mode.kind !== 'any' || random.chance(0.5)
    const record: WatchRecord = {
      ...{ watcher: name, member: served.member, range, mode, events: [] },
      start: after === null ? { kind: 'state', marked } : { kind: 'after', revision: after },
      begin: history.now(),
      proof: null,
    }
    const proven = ({ mode: by, boundMs, revision }: ReadProof): void => {
      record.proof = { mode: by, boundMs, revision, atMs: world.now }
    }
    this.#asking = true
    const query = queryOf([
      ...queryOfMode(mode).filter(([key]) => key === 'resourceVersion'),
      ...selector(range.color),
      ['allowWatchBookmarks', 'true'],
      ['timeoutSeconds', String(1 + random.below(6))],
      ...(after === null && marked ? initialEvents : []),
    ])
    const requested = ask(world, random, { served, timeoutMs: 1_000 }, (at, context) => {
      const definition = definitionOf(at, 'configmaps')
      const body = new Uint8Array(0)
      const target = targetOf(range.namespace, null)
      const wanted = { definition, target, query, body, contentType: '', ...headerOf(mode) }
      return at.registry.watch({ ...wanted, context: { ...context, proven } })
    })
    requested.then(
      (result) => {
        this.#asking = false
        if (result.kind === 'threw') this.#refused(record, result.cause)
        if (result.kind !== 'value' || result.value.kind !== 'watch') return
        history.watches.push(record)
        const { stream } = result.value
        this.#connection = { served, stream, record, latencyMs: random.below(100) / 50, ended: false }
        this.#pump(this.#connection)
      },
      (cause: unknown) => world.fail(cause),
    )
  }

  #stateMode(): Mode {
    const kind = this.#random.below(10)
    if (kind < 4) return { kind: 'most-recent' }
    if (kind < 6) return { kind: 'any' }
    if (kind < 8) return { kind: 'lease' }
    return kind < 9 ? { kind: 'bounded', boundMs: this.#random.pick([5, 20, 200, 2_000]) } : { kind: 'log' }
  }

  #refused(record: WatchRecord, cause: unknown): void {
    const { world, history, newest } = this.#options
    if (!(cause instanceof ApiError)) {
      world.fail(cause)
      return
    }
    if (cause.code !== 'Expired' && cause.code !== 'Gone') return
    history.watches.push(record)
    record.events.push({ kind: 'ERROR', reason: cause.code, trimmed: newest().trimmed })
    this.#position = null
  }

  /** Acts as the server: sends the events of the stream, sometimes after a pause. */
  #pump(connection: Connection): void {
    const { world } = this.#options
    const { served, stream } = connection
    const again = (delayMs: number): void =>
      world.schedule(delayMs, 'pumps', served.owner, () => this.#pump(connection))
    if (served.gone) {
      stream.close()
      return
    }
    const piece = stream.next()
    const took = (bytes: Uint8Array | null): void => {
      this.#send(connection, bytes)
      if (bytes === null) return
      if (bytes.length > 0) again(this.#random.chance(0.05) ? this.#random.below(500) : 0)
      else stream.onMore(() => again(0))
    }
    if (piece instanceof Promise) piece.then(took, (cause: unknown) => world.fail(cause))
    else took(piece)
  }

  /** Delivers bytes to the client after the latency of the connection. */
  #send(connection: Connection, bytes: Uint8Array | null): void {
    if (bytes?.length === 0) return
    this.#options.world.schedule(connection.latencyMs, 'watch response', null, () => {
      if (connection !== this.#connection || connection.ended) return
      if (bytes === null || !connection.served.owner.alive) connection.ended = true
      else
        for (const line of Buffer.from(bytes).toString('utf8').trimEnd().split('\n'))
          this.#receive(connection, line)
    })
  }

  #receive(connection: Connection, line: string): void {
    const { history, newest } = this.#options
    const { type, object } = JSON.parse(line) as { type: string; object: Doc }
    const { record } = connection
    const event = eventOf(type, object, newest().trimmed)
    record.events.push(event)
    switch (event.kind) {
      case 'ERROR':
        connection.ended = true
        if (event.reason === 'Expired') this.#position = null
        break
      case 'BOOKMARK':
        this.#position = event.revision
        history.observe(event.revision)
        break
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        // If the initial state is not marked, its end is not known from an event.
        if (this.#position !== null) this.#position = event.object.revision
        history.observe(event.object.revision)
    }
  }
}

const initialEvents: [string, string][] = [
  ['sendInitialEvents', 'true'],
  ['resourceVersionMatch', 'NotOlderThan'],
]

function eventOf(type: string, object: Doc, trimmed: number): WatchedEvent {
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { kind: type, object: observedObject(object) }
    case 'BOOKMARK': {
      const initialEnd = object.metadata?.annotations !== undefined
      return { kind: 'BOOKMARK', revision: Number(object.metadata?.resourceVersion), initialEnd }
    }
    case 'ERROR':
      return { kind: 'ERROR', reason: object.reason ?? '', trimmed }
    default:
      throw new Error(`an event of type ${type}`)
  }
}
