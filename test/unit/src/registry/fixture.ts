import type { Clock, Timer } from '../../../../base/clock.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { namespaceLifecycle } from '../../../../src/admission/namespace-lifecycle.ts'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { MemberChanges } from '../../../../src/membership/member-changes.ts'
import { textMember } from '../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain, Names } from '../../../../src/api/metadata/names.ts'
import type { UserInfo } from '../../../../src/api/metadata/object.ts'
import { httpCodeOfError, statusOf } from '../../../../src/api/errors/status.ts'
import type { Admission } from '../../../../src/registry/calls/admission.ts'
import type { VerbResponse, Registry, VerbRequest, WatchStream } from '../../../../src/registry/calls/verb.ts'
import { Catalog } from '../../../../src/registry/kinds/catalog.ts'
import { apiVersionOf } from '../../../../src/registry/kinds/definition.ts'
import type { ComponentHealth } from '../../../../src/registry/kinds/component-health.ts'
import type { ResourceDefinition } from '../../../../src/registry/kinds/definition.ts'
import type { ObjectConverter } from '../../../../src/registry/kinds/object-converter.ts'
import { defaultRegistryLimits } from '../../../../src/registry/shared/registry-limits.ts'
import type { RegistryLimits } from '../../../../src/registry/shared/registry-limits.ts'
import { registry } from '../../../../src/registry/registry.ts'
import type { AccessReviewer } from '../../../../src/registry/kinds/access-reviewer.ts'
import type { RegistrySwitches } from '../../../../src/registry/calls/query-options.ts'
import { bootstrapOperations } from '../../../../src/resources/bootstrap-objects.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { dualStackRanges } from '../../../../fixtures/service-ranges.ts'
import type { ServiceRanges } from '../../../../src/resources/services/service-ranges.ts'
import type { StoreLimits } from '../../../../src/store/store-limits.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { featureLevelMax } from '../../../../src/version.ts'
import { allowsEverything } from '../../../support/fakes/allow-all-reviewers.ts'
import type { LocalConsensus } from '../../../../fixtures/local-consensus.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../../../fixtures/memory-store.ts'

/** A clock that only the test advances; `soon` is `setImmediate`. */
export class ManualClock implements Clock {
  #now = 1_000_000
  readonly #timers = new Set<{ readonly at: number; readonly action: () => void }>()

  monotonicMs(): number {
    return this.#now
  }

  wallMs(): number {
    return Date.UTC(2026, 0, 2, 3, 4, 5) + this.#now - 1_000_000
  }

  after(delayMs: number, action: () => void): Timer {
    const timer = { at: this.#now + delayMs, action }
    this.#timers.add(timer)
    return { cancel: () => void this.#timers.delete(timer) }
  }

  every(periodMs: number, action: () => void): Timer {
    const repeat = (): void => {
      action()
      timer = this.after(periodMs, repeat)
    }
    let timer = this.after(periodMs, repeat)
    return { cancel: () => timer.cancel() }
  }

  soon(action: () => void): void {
    setImmediate(action)
  }

  advance(ms: number): void {
    this.#now += ms
    const due = [...this.#timers].filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at)
    for (const timer of due) if (this.#timers.delete(timer)) timer.action()
  }
}

export type FixtureOptions = {
  readonly domain?: ApiDomain
  readonly extra?: readonly ResourceDefinition[]
  /** The ranges of Services; by default large ranges of both families. */
  readonly ranges?: ServiceRanges
  readonly limits?: Partial<RegistryLimits>
  readonly switches?: RegistrySwitches
  readonly storeLimits?: Partial<StoreLimits>
  /** Wraps the store of the registry. */
  readonly wrap?: (store: ObjectStore) => ObjectStore
  readonly admission?: Admission
  /** By default every user may do everything; null: reviews are not supported. */
  readonly reviewers?: AccessReviewer | null
  readonly definitionsTakenIn?: () => Promise<void>
  /** By default no conversion webhook can be called. */
  readonly converter?: ObjectConverter
  /** Returns the health of components; by default none are known. */
  readonly components?: () => readonly ComponentHealth[]
}

export type Call = {
  readonly kind?: string
  readonly namespace?: string | null
  readonly name?: string
  readonly subresource?: string
  readonly query?: { readonly [name: string]: string }
  readonly body?: Json
  readonly rawBody?: Uint8Array | string
  readonly contentType?: string
  readonly deadlineMs?: number
  readonly idempotencyKey?: string
  /** By default a user with all permissions. */
  readonly user?: UserInfo
}

/** A failed call, as a client sees it. */
export type Seen = {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly status: JsonObject
}

/** The verbs over the shipped state machine in memory, with the shipped kinds and admission. */
export class Fixture {
  readonly names: Names
  readonly clock = new ManualClock()
  readonly random = new SeededRandom(7)
  readonly catalog: Catalog
  readonly registry: Registry
  readonly store: ObjectStore
  readonly consensus: LocalConsensus
  readonly memory: MemoryStore
  readonly warnings: string[] = []
  /** The number of requests that got the response of an earlier one with the same key. */
  replays = 0
  readonly #close: () => Promise<void>

  constructor(dependencies: {
    readonly names: Names
    readonly clock: ManualClock
    readonly memory: MemoryStore
    readonly options: FixtureOptions
  }) {
    const { names, memory, clock, options } = dependencies
    const { store, consensus, machine, close } = memory
    this.consensus = consensus
    this.memory = memory
    this.names = names
    this.clock = clock
    this.store = options.wrap?.(store) ?? store
    this.catalog = new Catalog([
      ...definitionsFor(names, options.ranges ?? dualStackRanges),
      ...(options.extra ?? []),
    ])
    const lifecycle = namespaceLifecycle({ names })
    this.registry = registry({
      store: this.store,
      clock: this.clock,
      random: this.random,
      names,
      catalog: this.catalog,
      admission: options.admission ?? admissionChain([lifecycle]),
      limits: { ...defaultRegistryLimits, ...options.limits },
      ...(options.switches === undefined ? {} : { switches: options.switches }),
      ...(options.converter === undefined ? {} : { converter: options.converter }),
      ...(options.components === undefined ? {} : { components: options.components }),
      ...(options.reviewers === null ? {} : { reviewers: options.reviewers ?? allowsEverything }),
      ...(options.definitionsTakenIn === undefined ? {} : { definitionsApplied: options.definitionsTakenIn }),
      membership: new MemberChanges({
        ...{ consensus, names, clock: this.clock },
        applied: () => machine.appliedMemory,
        configuration: () => machine.configuration,
      }),
    })
    this.#close = close
  }

  static async open(options: FixtureOptions = {}): Promise<Fixture> {
    const names = namesOf(options.domain ?? 'orch.io')
    const clock = new ManualClock()
    const memory = await openMemoryStore({ clock, limits: options.storeLimits ?? {} })
    const random = new SeededRandom(11)
    await memory.store.write(
      {
        kind: 'bootstrap',
        identity: {
          clusterId: 'test',
          apiDomain: names.domain,
          continueTokenKey: random.bytes(32),
          keyFingerprints: {},
        },
        settings: memory.store.settings,
        operations: bootstrapOperations(names, { clock, random }),
        featureLevel: featureLevelMax,
      },
      clock.monotonicMs() + 10_000,
    )
    return new Fixture({ names, clock, memory, options })
  }

  close(): Promise<void> {
    return this.#close()
  }

  /**
   * @param kind `GROUP/VERSION/KIND`, or the kind alone, which selects the definition that is
   * declared first
   */
  definition(kind: string): ResourceDefinition {
    const found = this.catalog.all().find((definition) => {
      return definition.kind === kind || `${apiVersionOf(definition)}/${definition.kind}` === kind
    })
    if (found === undefined) throw new Error(`no kind ${kind}`)
    return found
  }

  request(call: Call): VerbRequest {
    const definition = this.definition(call.kind ?? 'ConfigMap')
    const namespaced = definition.scope === 'Namespaced'
    const body = call.rawBody ?? (call.body === undefined ? '' : JSON.stringify(call.body))
    return {
      definition,
      context: {
        user: call.user ?? { name: 'tester', uid: '', groups: ['system:masters'], extra: {} },
        userAgent: 'test/1',
        deadlineMs: this.clock.monotonicMs() + (call.deadlineMs ?? 60_000),
        signal: new AbortController().signal,
        warn: (text) => void this.warnings.push(text),
        replayed: () => void this.replays++,
      },
      target: {
        namespace: namespaced ? (call.namespace === undefined ? 'default' : call.namespace) : null,
        name: call.name ?? null,
        subresource: call.subresource ?? null,
      },
      query: new Map(Object.entries(call.query ?? {}).map(([name, value]) => [name, [value]])),
      body: typeof body === 'string' ? Buffer.from(body) : body,
      contentType: call.contentType ?? 'application/json',
      ...(call.idempotencyKey === undefined ? {} : { idempotencyKey: call.idempotencyKey }),
    }
  }

  get(call: Call): Promise<Got> {
    return this.registry.get(this.request(call)).then(read)
  }

  create(call: Call): Promise<Got> {
    return this.registry.create(this.request(call)).then(read)
  }

  update(call: Call): Promise<Got> {
    return this.registry.update(this.request(call)).then(read)
  }

  patch(call: Call): Promise<Got> {
    const merge = { contentType: 'application/merge-patch+json', ...call }
    return this.registry.patch(this.request(merge)).then(read)
  }

  delete(call: Call): Promise<Got> {
    return this.registry.delete(this.request(call)).then(read)
  }

  deleteCollection(call: Call): Promise<Got> {
    return this.registry.deleteCollection(this.request(call)).then(read)
  }

  async list(call: Call): Promise<List> {
    const { object } = await this.registry.list(this.request(call)).then(read)
    return object as unknown as List
  }

  async watch(call: Call): Promise<Events> {
    const answer = await this.registry.watch(this.request(call))
    if (answer.kind !== 'watch') throw new Error('the watch did not return a stream')
    return new Events(answer.stream)
  }

  /** Trims the history up to now, keeping as little as possible. */
  async trim(): Promise<void> {
    const deadline = this.clock.monotonicMs() + 1000
    const settings = { ...this.store.settings, historyEventsMin: 0 }
    await this.store.write({ kind: 'change-settings', settings }, deadline)
    await this.store.write({ kind: 'trim', upTo: this.store.view().revision }, deadline)
  }

  /** Creates a ConfigMap in `default`. */
  configMap(name: string, more: JsonObject = {}): Promise<Got> {
    const metadata = { name, ...((more['metadata'] as JsonObject | undefined) ?? {}) }
    return this.create({ body: { apiVersion: 'v1', kind: 'ConfigMap', ...more, metadata } })
  }
}

export type Got = { readonly code: number; readonly object: Obj; readonly text: string }

export type Obj = JsonObject & {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly labels?: { readonly [key: string]: string }
    readonly annotations?: { readonly [key: string]: string }
    readonly managedFields?: readonly JsonObject[]
    readonly finalizers?: readonly string[]
  }
}

export type List = {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: readonly Obj[]
}

async function read(answer: VerbResponse): Promise<Got> {
  if (answer.kind === 'watch') throw new Error('not a watch')
  const pieces: Uint8Array[] = []
  if (answer.kind === 'document') pieces.push(answer.bytes)
  else for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) pieces.push(piece)
  const text = Buffer.concat(pieces).toString()
  return { code: answer.code, object: JSON.parse(text) as Obj, text }
}

export type Event = { readonly type: string; readonly object: Obj }

/** A watch as a client reads it. */
export class Events {
  readonly stream: WatchStream

  constructor(stream: WatchStream) {
    this.stream = stream
  }

  /** Returns the events available without waiting. */
  async now(): Promise<readonly Event[]> {
    const events: Event[] = []
    for (;;) {
      const piece = await this.stream.next()
      if (piece === null || piece.length === 0) return events
      events.push(...parseEvents(piece))
    }
  }

  /** Returns whether the stream has ended. */
  async ended(): Promise<boolean> {
    return (await this.stream.next()) === null
  }

  /** Returns the events in short form, such as `ADDED a`. */
  async words(): Promise<readonly string[]> {
    return (await this.now()).map(({ type, object }) => `${type} ${object.metadata.name}`)
  }

  /** Waits for the wake-up by `onMore`. */
  more(): Promise<void> {
    return new Promise((resolve) => this.stream.onMore(resolve))
  }
}

export function parseEvents(piece: Uint8Array): readonly Event[] {
  const lines = Buffer.from(piece).toString().trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Event)
}

/** Returns the error of a call that must fail. */
export async function refused(call: Promise<unknown>): Promise<Seen> {
  try {
    await call
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    const { code, message } = cause
    return { code: httpCodeOfError(cause), reason: code, message, status: statusOf(cause) }
  }
  throw new Error('the call was expected to fail')
}

/** Returns `status.details`. */
export function details(seen: Seen): JsonObject {
  return (seen.status['details'] ?? {}) as JsonObject
}

export function causes(seen: Seen): readonly string[] {
  const list = (details(seen)['causes'] ?? []) as readonly JsonObject[]
  return list.map((cause) => `${textMember(cause, 'reason')} ${textMember(cause, 'field')}`)
}
