import { isDeepStrictEqual } from 'node:util'
import type {
  Command,
  Condition,
  EncodedObject,
  Operation,
  Outcome,
  Settings,
} from '../../src/store/command.ts'
import { keyOf } from '../../src/store/key.ts'
import type { Key } from '../../src/store/key.ts'
import { revision } from '../../src/store/revision.ts'
import { smallSettings } from '../../fixtures/store-commands.ts'

/** One version, as plain values. */
type Plain = {
  readonly key: Key
  readonly revision: number
  readonly uid: string
  readonly labels: Readonly<Record<string, string>> | null
  readonly text: string
}

type StoredObject = { readonly plain: Plain; readonly source: EncodedObject }
type Event = { readonly kind: string; readonly object: Plain; readonly previous: Plain | null }
type State = ReadonlyMap<Key, StoredObject>

/** The specification of the store in its simplest form: a list of all states that ever existed. */
export class NaiveStore {
  readonly #states: State[] = [new Map()]
  readonly #events: { readonly event: Event; readonly last: boolean }[] = []
  #settings: Settings = { ...smallSettings, historyEventsMin: 1000, storageBytesMax: null }
  #hasIdentity = false
  #level = 1
  trimmed = 0
  alarm = false

  get revision(): number {
    return this.#states.length - 1
  }

  apply(command: Command): Outcome {
    switch (command.kind) {
      case 'write':
        return this.#write(command.operations)
      case 'bootstrap': {
        if (this.#hasIdentity) return { kind: 'nothing' }
        const wouldBe = this.#decide(command.operations)
        if (wouldBe.kind === 'refused') return wouldBe
        const outcome = this.#do(command.operations, wouldBe.states)
        this.#hasIdentity = true
        this.#level = Math.max(this.#level, command.featureLevel)
        this.#set(command.settings)
        return outcome
      }
      case 'trim': {
        const upTo = Math.min(command.upTo, this.revision - this.#eventsKept)
        if (upTo <= this.trimmed) return { kind: 'nothing' }
        this.trimmed = upTo
        this.#updateAlarm()
        return { kind: 'done', revisions: [] }
      }
      case 'change-settings':
        if (this.#level > 1 && command.expected !== undefined) {
          if (!isDeepStrictEqual(command.expected, this.#settings)) return { kind: 'nothing' }
        }
        this.#set(command.settings)
        return { kind: 'done', revisions: [] }
      case 'raise-feature-level':
        if (command.level <= this.#level) return { kind: 'nothing' }
        this.#level = command.level
        this.#set(this.#settings)
        return { kind: 'done', revisions: [] }
      case 'expire-sessions':
        throw new Error('not part of the model')
    }
  }

  at(requested: number): { get: (key: Key) => Plain | null; list: (prefix: string) => Plain[] } {
    const state = this.#states[requested]
    if (state === undefined) throw new Error(`there is no state at ${requested}`)
    return {
      get: (key) => state.get(key)?.plain ?? null,
      list: (prefix) =>
        [...state.values()]
          .map(({ plain }) => plain)
          .filter(({ key }) => key.startsWith(prefix))
          .sort((a, b) => (a.key < b.key ? -1 : 1)),
    }
  }

  events(prefix: string, after: number): Event[] {
    return this.#events
      .slice(after)
      .map(({ event }) => event)
      .filter(({ object }) => object.key.startsWith(prefix))
  }

  /** Returns whether the same command has no later event under `prefix`. */
  endsCommand(at: number, prefix: string): boolean {
    for (let next = at; this.#events[next - 1]?.last === false; next++) {
      if (this.#events[next]?.event.object.key.startsWith(prefix) === true) return false
    }
    return true
  }

  /**
   * Size of all versions that a read, a page or a watch may still request: the current ones, and
   * the retained history.
   */
  get usedBytes(): number {
    let sum = 0
    for (const { plain } of this.#newest().values()) if (plain.revision <= this.trimmed) sum += bytesOf(plain)
    for (const { event } of this.#events.slice(this.trimmed)) {
      sum += bytesOf(event.object)
      if (event.previous !== null && event.previous.revision <= this.trimmed) sum += bytesOf(event.previous)
    }
    return sum
  }

  /** No history is retained while the storage is full, or the largest object does not fit. */
  get #eventsKept(): number {
    const { objectBytesMax, storageBytesMax, historyEventsMin } = this.#settings
    const fits = this.usedBytes + objectBytesMax <= (storageBytesMax ?? Infinity)
    return this.alarm || !fits ? 0 : historyEventsMin
  }

  #set(settings: Settings): void {
    const first = Math.max(8 * 2 ** 30, 2 * this.usedBytes)
    const storageBytesMax = settings.storageBytesMax ?? this.#settings.storageBytesMax ?? first
    this.#settings = { ...settings, storageBytesMax: this.#level < 2 ? null : storageBytesMax }
    this.#updateAlarm()
  }

  #updateAlarm(): void {
    const { usedBytes } = this
    const quota = this.#settings.storageBytesMax ?? Infinity
    if (usedBytes < 0.9 * quota) this.alarm = false
    if (usedBytes > quota) this.alarm = true
  }

  /** Checks a write, then its size. */
  #write(operations: readonly Operation[]): Outcome {
    const wouldBe = this.#decide(operations)
    if (wouldBe.kind === 'refused') return wouldBe
    const tooMuch = this.#level < 2 ? null : this.#sizes(operations)
    const isTight = this.usedBytes >= 0.9 * (this.#settings.storageBytesMax ?? Infinity)
    if (tooMuch?.kind === 'over-quota' && isTight) this.alarm = true
    if (tooMuch !== null) return tooMuch
    const outcome = this.#do(operations, wouldBe.states)
    this.#updateAlarm()
    return outcome
  }

  #do(operations: readonly Operation[], states: readonly State[]): Outcome {
    states.forEach((after, at) => this.#record(after, operations[at], at === states.length - 1))
    return {
      kind: 'done',
      revisions: states.map((_, at) => revision(this.revision - states.length + at + 1)),
    }
  }

  /**
   * Limits: each object by its own limit; growing writes by the quota; writes that free space by
   * one and a half times the quota.
   */
  #sizes(operations: readonly Operation[]): Outcome | null {
    const { objectBytesMax, storageBytesMax: quota } = this.#settings
    const puts = operations.flatMap((operation, at) => {
      if (operation.kind === 'delete') return []
      const { byteLength: bytes } = operation.object.bytes
      const old = this.#replaced(operation, operations.slice(0, at))
      const deletes = operation.object.terminating && bytes <= old + 4096
      if (deletes && old > 0 && !this.#isTerminating(operation.key)) return []
      const grows = old === 0 || (bytes >= old && !deletes)
      const added = bytesOf(spliced(operation.key, operation.object, this.revision + 1 + at))
      return [
        { at, bytes, grows, added, bytesMax: grows ? objectBytesMax : Math.max(objectBytesMax + 4096, old) },
      ]
    })
    const large = puts.find(({ bytes, bytesMax }) => bytes > bytesMax)
    if (large !== undefined) {
      return { kind: 'too-large', operation: large.at, bytes: large.bytes, bytesMax: large.bytesMax }
    }
    const { usedBytes } = this
    const sum = (of: typeof puts): number => of.reduce((bytes, { added }) => bytes + added, 0)
    const grown = puts.filter(({ grows }) => grows)
    if (quota === null || puts.length === 0) return null
    if (grown.length > 0 && (this.alarm || usedBytes + sum(grown) > quota))
      return { kind: 'over-quota', usedBytes, bytesMax: quota }
    const ceiling = Math.floor(1.5 * quota)
    return usedBytes + sum(puts) > ceiling ? { kind: 'over-quota', usedBytes, bytesMax: ceiling } : null
  }

  /**
   * Returns the bytes of the version of the same object that a put replaces; 0: none. Only the
   * first write of a key in a command counts.
   */
  #replaced({ key, object }: Extract<Operation, { kind: 'put' }>, earlier: readonly Operation[]): number {
    const old = this.#newest().get(key)?.source
    const isFirst = earlier.every((other) => other.key !== key)
    return isFirst && old?.uid === object.uid ? old.bytes.byteLength : 0
  }

  #isTerminating(key: Key): boolean {
    return this.#newest().get(key)?.source.terminating ?? false
  }

  #decide(
    operations: readonly Operation[],
  ):
    Extract<Outcome, { kind: 'refused' }> | { readonly kind: 'all-hold'; readonly states: readonly State[] } {
    const before = this.#newest()
    const states: State[] = []
    let state = before
    for (const [at, operation] of operations.entries()) {
      const lost = operation.conditions.find((condition) => !holds(state, operation.key, condition))
      const current = revision(state.get(operation.key)?.plain.revision ?? 0)
      if (lost !== undefined) return { kind: 'refused', operation: at, condition: lost, current }
      if (operation.kind === 'delete' && current === 0) {
        return { kind: 'refused', operation: at, condition: { kind: 'exists' }, current }
      }
      state = next(state, operation, this.revision + at + 1)
      states.push(state)
    }
    return { kind: 'all-hold', states }
  }

  #record(after: State, operation: Operation | undefined, last: boolean): void {
    if (operation === undefined) return
    const previous = this.#newest().get(operation.key) ?? null
    this.#states.push(after)
    const now = after.get(operation.key)
    const object = now?.plain ?? spliced(operation.key, previous?.source, this.revision)
    const kind = now === undefined ? 'deleted' : previous === null ? 'created' : 'updated'
    this.#events.push({ event: { kind, object, previous: previous?.plain ?? null }, last })
  }

  #newest(): State {
    return this.#states[this.#states.length - 1] ?? new Map<Key, StoredObject>()
  }
}

/** Returns the size of the stored record of a version: a header of 50 bytes, then its parts. */
function bytesOf({ key, uid, labels, text }: Plain): number {
  const parts = [key, uid, labels === null ? '' : JSON.stringify(labels), text]
  return parts.reduce((sum, part) => sum + Buffer.byteLength(part), 50)
}

function next(state: State, operation: Operation, at: number): State {
  const after = new Map(state)
  if (operation.kind === 'delete') after.delete(operation.key)
  else
    after.set(operation.key, {
      plain: spliced(operation.key, operation.object, at),
      source: operation.object,
    })
  return after
}

function spliced(key: Key, source: EncodedObject | undefined, at: number): Plain {
  if (source === undefined) throw new Error('a deletion has no version before it')
  const text = Buffer.from(source.bytes).toString('utf8')
  const whole = text.slice(0, source.revisionOffset) + String(at) + text.slice(source.revisionOffset)
  return { key, revision: at, uid: source.uid, labels: source.labels, text: whole }
}

function holds(state: State, key: Key, condition: Condition): boolean {
  const held = state.get(key)
  switch (condition.kind) {
    case 'absent':
      return held === undefined
    case 'exists':
      return held !== undefined
    case 'uid-is':
      return held?.source.uid === condition.uid
    case 'revision-is':
      return (held?.plain.revision ?? 0) === condition.revision
    case 'namespace-active': {
      const namespace = keyOf({ group: '', plural: 'namespaces', namespace: '', name: condition.namespace })
      return state.get(namespace)?.source.terminating === false
    }
    case 'prefix-empty':
      return ![...state.keys()].some((other) => condition.prefixes.some((prefix) => other.startsWith(prefix)))
    case 'other-revision-is':
      return (state.get(condition.key)?.plain.revision ?? 0) === condition.revision
  }
}
