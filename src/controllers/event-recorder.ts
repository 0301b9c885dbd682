import { BrokenInvariant } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { memberOf } from '../api/json.ts'
import { formatTime } from '../api/metadata/time.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { StoreError } from '../store/store-errors.ts'
import { eventNamespace, newEvent } from './event-object.ts'
import type { EventSubject, EventText } from './event-object.ts'

export type EventRecorderDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly store: Pick<ObjectStore, 'view'>
  /** The name of the controller in `source.component`. */
  readonly component: string
  readonly onError: (cause: unknown) => void
}

/** Events that a controller may write at once, and the interval at which it may write another. */
const burst = 100
const refillMs = 1000
/** Maximum number of waiting events; more are dropped and counted. */
const waitingMax = 100

/**
 * Stores what a controller did, or could not do, as events about the objects. A repeated event
 * increments the count of the stored one. Writes one event at a time and never delays the
 * controller. Beyond a hundred at once and one each second, events are dropped and counted: they
 * must not cost more than the work that they report. A namespace that is being deleted gets none.
 */
export class EventRecorder {
  readonly #dependencies: EventRecorderDependencies
  readonly #waiting: { readonly about: EventSubject; readonly text: EventText }[] = []
  #isWriting = false
  #tokens = burst
  #refilledMs: number
  #dropped = 0

  constructor(dependencies: EventRecorderDependencies) {
    this.#dependencies = dependencies
    this.#refilledMs = dependencies.clock.monotonicMs()
  }

  /** Number of events that were not stored because there were too many. */
  get dropped(): number {
    return this.#dropped
  }

  /** @returns false: the event is dropped */
  record(about: EventSubject, text: EventText): boolean {
    if (this.#isTerminating(eventNamespace(about))) return false
    if (this.#waiting.length >= waitingMax || !this.#takeToken()) {
      this.#dropped++
      return false
    }
    this.#waiting.push({ about, text })
    if (!this.#isWriting) void this.#writeAll()
    return true
  }

  #isTerminating(name: string): boolean {
    const key = keyOf({ group: '', plural: 'namespaces', namespace: '', name })
    try {
      return this.#dependencies.store.view().get(key)?.terminating ?? false
    } catch (cause) {
      // The state is quarantined. The write decides.
      if (cause instanceof StoreError) return false
      throw cause
    }
  }

  #takeToken(): boolean {
    const nowMs = this.#dependencies.clock.monotonicMs()
    const refills = Math.floor((nowMs - this.#refilledMs) / refillMs)
    this.#refilledMs += refills * refillMs
    this.#tokens = Math.min(burst, this.#tokens + refills)
    if (this.#tokens === 0) return false
    this.#tokens--
    return true
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await this.#write(next.about, next.text)
      } catch (cause) {
        if (cause instanceof BrokenInvariant) throw cause
        // For example, the namespace is being deleted. Only the event is lost.
        this.#dependencies.onError(cause)
      }
    }
    this.#isWriting = false
  }

  async #write(about: EventSubject, text: EventText): Promise<void> {
    const { catalog, client, clock, component } = this.#dependencies
    const definition = catalog.find('', 'v1', 'events')
    if (definition === null) return
    const { reason, message, once = false } = text
    const identity = JSON.stringify([component, about.uid, reason, ...(once ? [] : [message])])
    const event = newEvent(about, text, { identity, component, wallMs: clock.wallMs() })
    const namespace = eventNamespace(about)
    const { name = '' } = event.metadata
    try {
      await client.create(definition, namespace, event)
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.code === 'AlreadyExists')) throw cause
      if (once) return
      const target = { namespace, name, subresource: null }
      const stored = await client.get(definition, target)
      if (stored === null) return
      const count = memberOf(stored, 'count')
      const again = {
        count: (typeof count === 'number' ? count : 1) + 1,
        lastTimestamp: formatTime(clock.wallMs()),
      }
      await client.update(definition, target, { ...stored, ...again })
    }
  }
}
