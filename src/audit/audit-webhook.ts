import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { limits } from '../config/limits.ts'
import { DroppedEventReporter } from './dropped-event-reporter.ts'
import type { DroppedEventReporterDependencies } from './dropped-event-reporter.ts'

/** Receives lists of events, one at a time. */
export interface AuditReceiver {
  /** @param list JSON of an `EventList`. Never rejects. */
  send(list: Uint8Array): Promise<SendOutcome>
}

export type SendOutcome =
  | { readonly kind: 'taken' }
  /** It may accept the list later. */
  | { readonly kind: 'not-now'; readonly why: string }
  /** It will never accept the list. */
  | { readonly kind: 'refused'; readonly why: string }

export type AuditWebhookOptions = {
  /** As `audit.orch.io/v1`. */
  readonly apiVersion: string
  /** The URL, for the operator. */
  readonly url: string
  /** How long an event waits for others to be sent with it. */
  readonly batchMsMax: number
  /** Delay before the second attempt; each later one is one and a half times as long. */
  readonly backOffMs: number
}

export type AuditWebhookDependencies = {
  readonly clock: Clock
  readonly random: Random
  readonly receiver: AuditReceiver
  readonly log: DroppedEventReporterDependencies['log']
  readonly onLost: (plugin: 'webhook' | 'buffered', count: number) => void
}

/**
 * Sends events in lists, one after the other, in the background. A list that is not accepted is
 * retried a bounded number of times, while other events wait. Bounded in events and bytes. When
 * full: an event is dropped and counted.
 *
 * @source apiserver `plugin/pkg/audit/webhook`, `plugin/pkg/audit/buffered`
 */
export class AuditWebhook {
  readonly #options: AuditWebhookOptions
  readonly #dependencies: AuditWebhookDependencies
  readonly #reporter: DroppedEventReporter
  #queue: Uint8Array[] = []
  #queuedBytes = 0
  #sending: Promise<void> | null = null
  /** Events taken from the queue that are being sent. */
  #inHand = 0
  #waitsForMore = false
  #isClosing = false
  /** Ends a pause early. */
  #wake: (() => void) | null = null

  constructor(options: AuditWebhookOptions, dependencies: AuditWebhookDependencies) {
    this.#options = options
    this.#dependencies = dependencies
    this.#reporter = new DroppedEventReporter({
      ...{ clock: dependencies.clock, log: dependencies.log, where: { url: options.url } },
      remedy: 'check the server that they are sent to, and --audit-webhook-config-file',
    })
  }

  /**
   * @param line one event
   * @returns false: dropped, there is no space for it
   */
  add(line: Uint8Array): boolean {
    const { auditBufferLinesMax, auditBufferBytesMax } = limits
    const bytes = this.#queuedBytes + line.byteLength
    if (this.#queue.length >= auditBufferLinesMax || bytes > auditBufferBytesMax) {
      this.#dependencies.onLost('buffered', 1)
      this.#reporter.dropped(1, 'too many events are waiting to be sent')
      return false
    }
    this.#queue.push(line)
    this.#queuedBytes = bytes
    if (this.#waitsForMore && this.#isBatch) this.#wake?.()
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
    })
    return true
  }

  /** Sends what waits, once and up to a time limit. Nothing may be added afterwards. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#wake?.()
    const pending = this.#sending
    if (pending === null) return
    const isDone = await new Promise<boolean>((resolve) => {
      const timer = this.#dependencies.clock.after(limits.auditCloseMsMax, () => resolve(false))
      void pending.then(() => {
        timer.cancel()
        resolve(true)
      })
    })
    if (!isDone)
      this.#lose(this.#inHand + this.#takeBatch(Infinity, Infinity).length, 'the member shuts down')
  }

  /** Whether enough events for a full list are waiting. */
  get #isBatch(): boolean {
    const { auditWebhookEventsMax, auditWebhookBytesMax } = limits
    return this.#queue.length >= auditWebhookEventsMax || this.#queuedBytes >= auditWebhookBytesMax
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      if (!this.#isBatch) {
        this.#waitsForMore = true
        await this.#pause(this.#options.batchMsMax)
        this.#waitsForMore = false
      }
      const batch = this.#takeBatch(limits.auditWebhookEventsMax, limits.auditWebhookBytesMax)
      this.#inHand = batch.length
      if (batch.length > 0) await this.#send(batch)
      this.#inHand = 0
    }
  }

  async #send(batch: readonly Uint8Array[]): Promise<void> {
    const { receiver, random } = this.#dependencies
    const list = eventList(this.#options.apiVersion, batch)
    let backOffMs = this.#options.backOffMs
    for (let tries = 1; ; tries++) {
      const outcome = await receiver.send(list)
      if (outcome.kind === 'taken') {
        this.#reporter.recovered()
        return
      }
      if (outcome.kind === 'refused' || tries === limits.auditWebhookTriesMax || this.#isClosing) {
        this.#lose(batch.length, outcome.why)
        return
      }
      // Members that lost the same server must not reconnect all at once.
      await this.#pause(backOffMs * (1 + (random.below(1000) / 1000) * JITTER))
      backOffMs *= BACK_OFF_FACTOR
    }
  }

  async #pause(pauseMs: number): Promise<void> {
    if (this.#isClosing) return
    await new Promise<void>((resolve) => {
      const timer = this.#dependencies.clock.after(pauseMs, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
    })
    this.#wake = null
  }

  /** Takes at least one event, unless the queue is empty. */
  #takeBatch(countMax: number, bytesMax: number): readonly Uint8Array[] {
    let count = 0
    let bytes = 0
    for (const line of this.#queue) {
      if (count === countMax || (count > 0 && bytes + line.byteLength > bytesMax)) break
      bytes += line.byteLength
      count++
    }
    this.#queuedBytes -= bytes
    return this.#queue.splice(0, count)
  }

  #lose(count: number, cause: string): void {
    if (count === 0) return
    this.#dependencies.onLost('webhook', count)
    this.#reporter.dropped(count, cause)
  }
}

const BACK_OFF_FACTOR = 1.5
const JITTER = 0.2

function eventList(apiVersion: string, events: readonly Uint8Array[]): Uint8Array {
  const head = JSON.stringify({ kind: 'EventList', apiVersion, metadata: {}, items: [] }).slice(
    0,
    -']}'.length,
  )
  const parts: Uint8Array[] = [Buffer.from(head)]
  for (const [at, event] of events.entries()) {
    if (at > 0) parts.push(comma)
    parts.push(event)
  }
  parts.push(end)
  return Buffer.concat(parts)
}

const comma = Buffer.from(',')
const end = Buffer.from(']}')
