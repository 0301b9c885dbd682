import { parseOwnJson } from '../api/codec/json.ts'
import { jsonText } from '../api/codec/json-text.ts'
import { isJsonObject, memberOf } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'

/** The fields that are removed from a body before it is recorded. */
export type RedactionOptions = {
  /**
   * Bearer tokens that are reviewed or issued, whatever the policy is: a reader of the log could
   * use them.
   */
  readonly tokens: boolean
  readonly managedFields: boolean
}

/** Replaces a removed value. */
const redactedMark = '[withheld]'

export function redacted(body: Json, { tokens, managedFields }: RedactionOptions): Json {
  if (!isJsonObject(body)) return body
  const plain = managedFields ? withoutManagedFields(body) : body
  return tokens ? withoutTokens(plain) : plain
}

/** @param text JSON encoded by this server */
export function redactedText(text: string, redaction: RedactionOptions): string {
  if (!redaction.tokens && !redaction.managedFields) return text
  return jsonText(redacted(parseOwnJson(text), redaction))
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = memberOf(object, 'metadata')
  if (!isJsonObject(metadata) || !Object.hasOwn(metadata, 'managedFields')) return object
  const rest = Object.entries(metadata).filter(([name]) => name !== 'managedFields')
  return { ...object, metadata: Object.fromEntries(rest) }
}

function withoutTokens(object: JsonObject): JsonObject {
  const changed: { [name: string]: Json } = { ...object }
  for (const name of ['spec', 'status']) {
    const part = memberOf(object, name)
    if (isJsonObject(part) && Object.hasOwn(part, 'token')) changed[name] = { ...part, token: redactedMark }
  }
  return changed
}
