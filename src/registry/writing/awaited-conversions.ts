import { createHash } from 'node:crypto'
import { ApiError } from '../../api/errors/api-error.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { isJsonObject, memberOf } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { WriteRequest } from '../calls/verb.ts'
import type { AnyObject } from '../kinds/definition.ts'
import type { ConversionWebhook } from '../kinds/conversion-webhook.ts'
import type { ObjectConverter } from '../kinds/object-converter.ts'

/**
 * Thrown by an evaluation that needs an object in another version. The caller makes the conversion
 * and repeats the evaluation.
 */
export class ConversionAwaited extends Error {
  readonly webhook: ConversionWebhook
  readonly object: AnyObject
  readonly apiVersion: string

  constructor(webhook: ConversionWebhook, object: AnyObject, apiVersion: string) {
    super('an evaluation needs an object that a webhook has to convert first')
    this.webhook = webhook
    this.object = object
    this.apiVersion = apiVersion
  }
}

/** Conversions for one request. More: the object counts as one that cannot be converted. */
const CONVERSIONS_MAX = 32

/**
 * The conversions that the evaluations of one request need: field managers may have written other
 * versions, in which their fields are compared. Evaluations are synchronous: one that lacks a
 * conversion ends, and begins again when the webhook has made it. They are deterministic, so each
 * one needs the same conversions and gets further than the one before.
 */
export class AwaitedConversions {
  /** By the text of the object and the wanted version. null: it cannot be converted. */
  readonly #known = new Map<string, JsonObject | null>()

  /**
   * Returns the object in another version; null: it cannot be converted.
   *
   * @param object perhaps only a part of one
   * @throws ConversionAwaited
   */
  get(
    webhook: ConversionWebhook,
    object: JsonObject,
    type: { readonly kind: string; readonly from: string; readonly to: string },
  ): JsonObject | null {
    const metadata = memberOf(object, 'metadata')
    const whole = {
      ...object,
      apiVersion: type.from,
      kind: type.kind,
      metadata: isJsonObject(metadata) ? metadata : {},
    }
    const known = this.#known.get(keyOf(whole, type.to))
    if (known !== undefined) return known
    if (this.#known.size >= CONVERSIONS_MAX) return null
    throw new ConversionAwaited(webhook, whole, type.to)
  }

  /** Makes the conversion that an evaluation awaits. */
  async make(
    { webhook, object, apiVersion }: ConversionAwaited,
    converter: ObjectConverter,
    deadlineMs: number,
  ): Promise<void> {
    let converted: JsonObject | null = null
    try {
      converted = (await converter.convert(webhook, [object], apiVersion, deadlineMs))[0] ?? null
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause
    }
    this.#known.set(keyOf(object, apiVersion), converted)
  }
}

function keyOf(object: JsonObject, apiVersion: string): string {
  return `${apiVersion} ${createHash('sha256').update(jsonText(object)).digest('base64')}`
}

/** An entry lives as long as its request. */
const byRequest = new WeakMap<object, AwaitedConversions>()

/** Returns the conversions of a request, which survive its retries. */
export function awaitedBy({ admission }: Pick<WriteRequest, 'admission'>): AwaitedConversions {
  let found = byRequest.get(admission)
  if (found === undefined) {
    found = new AwaitedConversions()
    byRequest.set(admission, found)
  }
  return found
}
