import type { JsonObject } from '../../api/json.ts'
import type { EncodedObject } from '../../store/command.ts'
import type { Revision } from '../../store/revision.ts'
import type { Key } from '../../store/key.ts'
import type { ConvertibleStore } from '../shared/convertible-store.ts'
import type { VerbResponse } from './verb.ts'
import { withRevision } from '../kinds/encode.ts'

type Document = Extract<VerbResponse, { readonly kind: 'document' }>

/** Returns a response with one object. */
export function documentResponse(code: 200 | 201 | 202, bytes: Uint8Array): Document {
  return { kind: 'document', code, bytes }
}

/** Returns a response with a `Status`. */
export function statusResponse(code: 200 | 201 | 202, status: JsonObject): Document {
  return { ...documentResponse(code, Buffer.from(JSON.stringify(status))), isStatus: true }
}

/**
 * Returns the stored bytes if memory still has that version and they can be read without a call of
 * a webhook, else the bytes that were written.
 */
export function bytesAt(
  store: ConvertibleStore,
  key: Key,
  encoded: EncodedObject,
  revision: Revision,
): Uint8Array {
  const stored = store.view().get(key)
  if (stored?.revision !== revision) return withRevision(encoded, revision)
  return store.conversions?.isReadable(stored) === false ? withRevision(encoded, revision) : stored.bytes
}
