import { encodeEnvelope, logIndex, term } from '../../raft/index.ts'
import type { Configuration, Entry, LogIndex, SettledProposal } from '../../raft/index.ts'
import { encodeCommand } from '../../src/store/command-codec.ts'
import type { Command, Condition, EncodedObject, Operation, Outcome } from '../../src/store/command.ts'
import { keyOf, prefixOf } from '../../src/store/key.ts'
import type { Key, KeyPrefix } from '../../src/store/key.ts'
import type { StoredObject } from '../../src/store/object-store.ts'

export function configMapKey(name: string, namespace = 'default'): Key {
  return keyOf({ group: '', plural: 'configmaps', namespace, name })
}

export function namespaceKey(name: string): Key {
  return keyOf({ group: '', plural: 'namespaces', namespace: '', name })
}

export const allConfigMaps: KeyPrefix = prefixOf({ group: '', plural: 'configmaps', namespace: null })

export function configMapsOf(namespace: string): KeyPrefix {
  return prefixOf({ group: '', plural: 'configmaps', namespace })
}

/** A stored object as the registry would encode it. `value` is told back by `valueOf`. */
export function encoded(value: string, options: Partial<Omit<EncodedObject, 'bytes'>> = {}): EncodedObject {
  const start = '{"kind":"ConfigMap","apiVersion":"v1",'
  const before = `${start}"metadata":{"resourceVersion":"`
  return {
    bytes: Buffer.from(`${before}"},"data":{"value":${JSON.stringify(value)}}}`),
    revisionOffset: before.length,
    itemOffset: start.length,
    uid: options.uid ?? `uid-of-${value.slice(0, 29)}`,
    terminating: options.terminating ?? false,
    labels: options.labels ?? null,
  }
}

/** What `encoded` was given, and the revision that apply put in. */
export function decoded(object: StoredObject): { readonly value: string; readonly resourceVersion: string } {
  const json: unknown = JSON.parse(Buffer.from(object.bytes).toString('utf8'))
  const { data, metadata } = json as { data: { value: string }; metadata: { resourceVersion: string } }
  return { value: data.value, resourceVersion: metadata.resourceVersion }
}

export function put(key: Key, value: string, ...conditions: Condition[]): Operation {
  return { kind: 'put', key, conditions, object: encoded(value) }
}

export function remove(key: Key, ...conditions: Condition[]): Operation {
  return { kind: 'delete', key, conditions }
}

export function write(...operations: Operation[]): Command {
  return { kind: 'write', operations }
}

/** The session that `LogWriter` speaks for unless told otherwise. */
export const ownSession = 7

type CommandOptions = {
  readonly session?: number
  readonly sequence?: number
  readonly acknowledgedBelow?: number
  readonly expectedTerm?: number
}

/** Writes the log that members apply. */
export class LogWriter {
  readonly entries: Entry[] = []
  readonly #first: number
  #sequence = 0
  term = term(1)

  /** @param after the log begins behind this index */
  constructor(after = 0) {
    this.#first = after + 1
  }

  get last(): LogIndex {
    return logIndex(this.#first + this.entries.length - 1)
  }

  command(command: Command, options: CommandOptions = {}): Entry {
    return this.payload(encodeCommand(command), options)
  }

  /** Whatever the bytes are. */
  payload(payload: Uint8Array, options: CommandOptions = {}): Entry {
    const sequence = options.sequence ?? ++this.#sequence
    const data = encodeEnvelope({
      session: options.session ?? ownSession,
      sequence,
      acknowledgedBelow: options.acknowledgedBelow ?? sequence,
      expectedTerm: term(options.expectedTerm ?? this.term),
      payload,
    })
    return this.#append({ index: logIndex(this.last + 1), term: this.term, kind: 'command', data })
  }

  empty(): Entry {
    return this.#append({ index: logIndex(this.last + 1), term: this.term, kind: 'empty' })
  }

  configuration(configuration: Configuration): Entry {
    return this.#append({
      index: logIndex(this.last + 1),
      term: this.term,
      kind: 'configuration',
      configuration,
    })
  }

  /** Entries behind `index`. */
  after(index: number): readonly Entry[] {
    return this.entries.slice(index + 1 - this.#first)
  }

  #append(entry: Entry): Entry {
    this.entries.push(entry)
    return entry
  }
}

/** The outcome of the only command settled. */
export function outcomeOf(settled: readonly SettledProposal<Outcome>[]): Outcome | 'void' {
  const [one, ...more] = settled
  if (one === undefined || more.length > 0) throw new Error(`${settled.length} commands were settled`)
  return one.fate.kind === 'void' ? 'void' : one.fate.outcome
}
