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
import { smallSettings } from '../support/store-commands.ts'

/** One version, as plain values. */
type Plain = {
  readonly key: Key
  readonly revision: number
  readonly uid: string
  readonly labels: Readonly<Record<string, string>> | null
  readonly text: string
}

type Held = { readonly plain: Plain; readonly source: EncodedObject }
type Event = { readonly kind: string; readonly object: Plain; readonly previous: Plain | null }
type State = ReadonlyMap<Key, Held>

/** What the store promises, in the shortest words: a list of all states there ever were. */
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
        this.#hasIdentity = true
        this.#set(command.settings)
        return this.#write(command.operations)
      }
      case 'trim': {
        const floor = this.alarm ? 0 : this.#settings.historyEventsMin
        const upTo = Math.min(command.upTo, this.revision - floor)
        if (upTo <= this.trimmed) return { kind: 'nothing' }
        this.trimmed = upTo
        this.#lookAtAlarm()
        return { kind: 'done', revisions: [] }
      }
      case 'change-settings':
        this.#set(command.settings)
        return { kind: 'done', revisions: [] }
      case 'raise-feature-level':
        this.#level = command.level
        this.#set({ ...this.#settings, storageBytesMax: 8 * 2 ** 30 })
        return { kind: 'done', revisions: [] }
      case 'expire-sessions':
        throw new Error('not part of the model')
    }
  }

  at(asked: number): { get: (key: Key) => Plain | null; list: (prefix: string) => Plain[] } {
    const state = this.#states[asked]
    if (state === undefined) throw new Error(`no state at ${asked}`)
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

  /** Whether no later event of the same command lies under `prefix`. */
  endsCommand(at: number, prefix: string): boolean {
    for (let next = at; this.#events[next - 1]?.last === false; next++) {
      if (this.#events[next]?.event.object.key.startsWith(prefix) === true) return false
    }
    return true
  }

  /** Of every version that a read, a page or a watch may still ask for: the current ones, and what came since. */
  get usedBytes(): number {
    let sum = 0
    for (const { plain } of this.#newest().values()) if (plain.revision <= this.trimmed) sum += bytesOf(plain)
    for (const { event } of this.#events.slice(this.trimmed)) {
      sum += bytesOf(event.object)
      if (event.previous !== null && event.previous.revision <= this.trimmed) sum += bytesOf(event.previous)
    }
    return sum
  }

  #set(settings: Settings): void {
    const storageBytesMax = settings.storageBytesMax ?? this.#settings.storageBytesMax
    this.#settings = { ...settings, storageBytesMax: this.#level < 2 ? null : storageBytesMax }
    this.#lookAtAlarm()
  }

  #lookAtAlarm(): void {
    if (this.usedBytes < 0.9 * (this.#settings.storageBytesMax ?? Infinity)) this.alarm = false
  }

  /** A write as such, then its size. */
  #write(operations: readonly Operation[]): Outcome {
    const wouldBe = this.#decide(operations)
    if (wouldBe.kind === 'refused') return wouldBe
    const grown = operations.filter((operation, at) => !this.#makesRoom(operation, operations.slice(0, at)))
    for (const operation of grown) {
      if (operation.kind === 'delete') continue
      const { byteLength: bytes } = operation.object.bytes
      const { objectBytesMax: bytesMax } = this.#settings
      const at = operations.indexOf(operation)
      if (this.#level > 1 && bytes > bytesMax) return { kind: 'too-large', operation: at, bytes, bytesMax }
    }
    const bytesMax = this.#settings.storageBytesMax
    const added = grown.reduce((sum, operation) => {
      if (operation.kind === 'delete') return sum
      const at = this.revision + 1 + operations.indexOf(operation)
      return sum + bytesOf(spliced(operation.key, operation.object, at))
    }, 0)
    if (bytesMax !== null && added > 0 && (this.alarm || this.usedBytes + added > bytesMax)) {
      this.alarm = true
      return { kind: 'over-quota', usedBytes: this.usedBytes, bytesMax }
    }
    wouldBe.states.forEach((after, at) =>
      this.#record(after, operations[at], at === wouldBe.states.length - 1),
    )
    return {
      kind: 'done',
      revisions: wouldBe.states.map((_, at) => revision(this.revision - wouldBe.states.length + at + 1)),
    }
  }

  /** Deletions; what gets smaller; what is being deleted and hardly grows. Of a key's writes in one command the first. */
  #makesRoom(operation: Operation, earlier: readonly Operation[]): boolean {
    if (operation.kind === 'delete') return true
    const old = this.#newest().get(operation.key)?.source
    const isFirst = earlier.every(({ key }) => key !== operation.key)
    if (!isFirst || old?.uid !== operation.object.uid) return false
    const growth = operation.object.bytes.byteLength - old.bytes.byteLength
    return growth < 0 || (operation.object.terminating && growth <= 4096)
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
    return this.#states[this.#states.length - 1] ?? new Map<Key, Held>()
  }
}

/** As the stored record of a version is laid out: a header of 50 bytes, then its parts. */
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
  if (source === undefined) throw new Error('a deletion follows a version')
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
  }
}
