import type { Command, Condition, EncodedObject, Operation, Outcome } from '../../src/store/command.ts'
import { keyOf } from '../../src/store/key.ts'
import type { Key } from '../../src/store/key.ts'
import { revision } from '../../src/store/revision.ts'

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
  #historyEventsMin = 1000
  #hasIdentity = false
  trimmed = 0

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
        this.#historyEventsMin = command.settings.historyEventsMin
        return this.#write(command.operations)
      }
      case 'trim': {
        const upTo = Math.min(command.upTo, this.revision - this.#historyEventsMin)
        if (upTo <= this.trimmed) return { kind: 'nothing' }
        this.trimmed = upTo
        return { kind: 'done', revisions: [] }
      }
      case 'change-settings':
        this.#historyEventsMin = command.settings.historyEventsMin
        return { kind: 'done', revisions: [] }
      case 'raise-feature-level':
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

  #write(operations: readonly Operation[]): Outcome {
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
    states.forEach((after, at) => this.#record(after, operations[at], at === states.length - 1))
    return {
      kind: 'done',
      revisions: states.map((_, at) => revision(this.revision - states.length + at + 1)),
    }
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
