import type { Clock } from '../../../base/clock.ts'
import { beforeDeadline } from '../../../base/deadline.ts'
import { jsonValues } from '../../api/codec/value-count.ts'
import { timeout } from '../../api/errors/standard-errors.ts'
import type { StoredObject } from '../../store/object-store.ts'
import { revision as revisionOf } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import { YieldBudget, yieldToEventLoop } from '../shared/yield-budget.ts'
import type { ConversionCache } from './conversion-cache.ts'
import type { AnyObject, WebhookConversion } from './definition.ts'
import { encode, parseStored, withRevision } from './encode.ts'
import type { ObjectConverter } from './object-converter.ts'
import type { ShownVersion } from './stored-version.ts'

export type CachedConversionsOptions = {
  readonly clock: Clock
  readonly limits: RegistryLimits
  readonly converter: ObjectConverter
  readonly cache: ConversionCache
  readonly version: ShownVersion
  readonly webhook: WebhookConversion
}

/** Bytes of converted objects, by `keyOf` the object. */
type Converted = ReadonlyMap<string, Uint8Array>

/**
 * Converts stored objects to one version of their kind, in batches. A version of an object is
 * converted by one call at a time, however many readers wait for it, and then kept in the cache.
 */
export class CachedConversions {
  readonly #options: CachedConversionsOptions
  readonly #prefix: string
  /** Calls in progress, by the keys of their objects; a reader starts one at a time. */
  readonly #inProgress = new Map<string, Promise<Converted>>()

  constructor(options: CachedConversionsOptions) {
    this.#options = options
    this.#prefix = options.cache.nextPrefix()
  }

  keyOf({ uid, revision }: { readonly uid: string; readonly revision: Revision }): string {
    return `${this.#prefix}${uid}/${revision}`
  }

  /** @returns null: it must be converted first */
  cached(stored: StoredObject): Uint8Array | null {
    return this.#options.cache.get(this.keyOf(stored))
  }

  /** Adds an object that this member wrote: it was converted for the write. */
  add(of: { readonly uid: string; readonly revision: Revision }, bytes: Uint8Array): void {
    this.#options.cache.set(this.keyOf(of), bytes)
  }

  /**
   * Returns the bytes of all of these objects.
   *
   * @throws ApiError one of them cannot be converted, or not by the deadline
   */
  async bytesOf(objects: readonly StoredObject[], deadlineMs: number): Promise<Converted> {
    const { cache } = this.#options
    const found = new Map<string, Uint8Array>()
    for (;;) {
      const missing: StoredObject[] = []
      const others = new Set<Promise<Converted>>()
      for (const stored of objects) {
        const key = this.keyOf(stored)
        if (found.has(key)) continue
        const known = cache.get(key)
        const pending = this.#inProgress.get(key)
        if (known !== null) found.set(key, known)
        else if (pending !== undefined) others.add(pending)
        else missing.push(stored)
      }
      const [first] = others
      if (first === undefined && missing.length === 0) return found
      // Each pass of this loop finds at least one more object.
      const call = first ?? this.#begin(this.#firstBatch(missing))
      for (const [key, bytes] of await this.#beforeDeadline(call, deadlineMs)) found.set(key, bytes)
    }
  }

  #firstBatch(objects: readonly StoredObject[]): readonly StoredObject[] {
    const { conversionBatchBytes, conversionBatchObjects, conversionBatchValues } = this.#options.limits
    let bytes = 0
    let values = 0
    let count = 0
    for (const stored of objects.slice(0, conversionBatchObjects)) {
      bytes += stored.byteLength
      if (count > 0 && bytes > conversionBatchBytes) break
      values += jsonValues(stored.bytes)
      if (count > 0 && values > conversionBatchValues) break
      count++
    }
    return objects.slice(0, count)
  }

  #begin(batch: readonly StoredObject[]): Promise<Converted> {
    const call = this.#convert(batch)
    const keys = batch.map((stored) => this.keyOf(stored))
    for (const key of keys) this.#inProgress.set(key, call)
    const end = (): void => {
      for (const key of keys) if (this.#inProgress.get(key) === call) this.#inProgress.delete(key)
    }
    call.then(end, end)
    return call
  }

  async #convert(batch: readonly StoredObject[]): Promise<Converted> {
    const { clock, limits, converter, cache, version, webhook } = this.#options
    const { conversion, requested } = version
    const turn = new YieldBudget(clock, limits)
    const pause = async (bytes: number): Promise<void> => {
      if (turn.isSpent) {
        await yieldToEventLoop(clock)
        turn.reset()
      }
      turn.charge(bytes)
    }
    const objects: AnyObject[] = []
    for (const stored of batch) {
      await pause(stored.byteLength)
      const object = parseStored(stored)
      objects.push(conversion?.fromStored(object) ?? object)
    }
    // Readers with different deadlines share the call: it ends at its own timeout.
    const { target } = webhook
    const converted = await converter.convert(target, objects, requested.apiVersion, Number.POSITIVE_INFINITY)
    const made = new Map<string, Uint8Array>()
    for (const [at, stored] of batch.entries()) {
      await pause(stored.byteLength)
      const object = converted[at]
      if (object === undefined) continue
      const version = revisionOf(Number(object.metadata.resourceVersion))
      const bytes = withRevision(encode({ ...webhook.toRequested(object), ...requested }), version)
      const key = this.keyOf(stored)
      made.set(key, bytes)
      cache.set(key, bytes)
    }
    return made
  }

  #beforeDeadline(call: Promise<Converted>, deadlineMs: number): Promise<Converted> {
    const late = (): Error =>
      timeout('the conversion webhook did not respond within the timeout of the request')
    return beforeDeadline(call, { clock: this.#options.clock, deadlineMs, late })
  }
}
