import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { memberOf } from '../api/json.ts'
import { formatTime } from '../api/metadata/time.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { LocalClient } from '../registry/local-client.ts'

/** The object that an event is about. */
export type EventSubject = {
  readonly apiVersion: string
  readonly kind: string
  /** Empty: a cluster-scoped object, whose events are in the namespace `default`. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export type EventText = {
  readonly type: 'Normal' | 'Warning'
  /** One word in upper camel case, for programs. */
  readonly reason: string
  /** Longer than `messageMax`: cut. */
  readonly message: string
}

export type EventRecorderDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  /** The name of the controller in `source.component`. */
  readonly component: string
  readonly onError: (cause: unknown) => void
}

/** Characters of a message. @source upstream `pkg/apis/core/validation`: NoteLengthLimit */
const messageMax = 1024
/** Longer names of objects are cut in the names of their events. */
const nameMax = 200
/** The namespace of events about cluster-scoped objects. */
const clusterEvents = 'default'
/** Events that a controller may write at once, and the interval at which it may write another. */
const burst = 100
const refillMs = 1000
/** Events that wait for their write. Beyond: dropped, and counted. */
const waitingMax = 100

/**
 * Stores what a controller did, or could not do, as events about the objects. The same event again
 * counts up the stored one. Writes one event at a time and never delays the controller; beyond a
 * hundred at once and one each second, events are dropped and counted: they must not cost more than
 * the work that they report.
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

  record(about: EventSubject, text: EventText): void {
    if (this.#waiting.length >= waitingMax || !this.#takeToken()) {
      this.#dropped++
      return
    }
    this.#waiting.push({ about, text })
    if (!this.#isWriting) void this.#writeAll()
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
        // Such as a namespace that is being deleted: the event is lost, the work is not.
        if (!(cause instanceof ApiError)) throw cause
        this.#dependencies.onError(cause)
      }
    }
    this.#isWriting = false
  }

  async #write(about: EventSubject, text: EventText): Promise<void> {
    const { catalog, client, clock, component } = this.#dependencies
    const definition = catalog.find('', 'v1', 'events')
    if (definition === null) return
    const event = eventAbout(about, text, { component, wallMs: clock.wallMs() })
    const { namespace = clusterEvents, name = '' } = event.metadata
    try {
      await client.create(definition, namespace, event)
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.code === 'AlreadyExists')) throw cause
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

/** Returns the first event of that text. Its name follows from subject and text. */
function eventAbout(
  about: EventSubject,
  { type, reason, message }: EventText,
  by: { readonly component: string; readonly wallMs: number },
): AnyObject {
  const { namespace, name, uid } = about
  const hash = createHash('sha256')
    .update(JSON.stringify([by.component, uid, reason, message]))
    .digest('hex')
  const time = formatTime(by.wallMs)
  return {
    ...{ kind: 'Event', apiVersion: 'v1' },
    metadata: {
      name: `${name.slice(0, nameMax)}.${hash.slice(0, 16)}`,
      namespace: namespace || clusterEvents,
    },
    involvedObject: {
      ...{ kind: about.kind, apiVersion: about.apiVersion, name, uid },
      ...(namespace === '' ? {} : { namespace }),
    },
    ...{ type, reason, message: message.slice(0, messageMax) },
    source: { component: by.component },
    ...{ firstTimestamp: time, lastTimestamp: time, count: 1 },
  }
}
