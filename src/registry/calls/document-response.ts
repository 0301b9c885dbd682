import type { JsonObject } from '../../api/json.ts'
import type { EncodedObject } from '../../store/command.ts'
import type { Revision } from '../../store/revision.ts'
import type { VerbResponse } from './verb.ts'
import { withRevision } from '../kinds/encode.ts'

type Document = Extract<VerbResponse, { readonly kind: 'document' }>

/** Returns a response with one object. */
export function documentResponse(code: 200 | 201 | 202, bytes: Uint8Array): Document {
  return { kind: 'document', code, bytes }
}

/** Returns a response with a `Status`. */
export function statusResponse(code: 200 | 201, status: JsonObject): Document {
  return { ...documentResponse(code, Buffer.from(JSON.stringify(status))), isStatus: true }
}

/** Returns the stored bytes if memory still has that version, else the bytes that were written. */
export function bytesAt(
  stored: { readonly revision: Revision; readonly bytes: Uint8Array } | null,
  encoded: EncodedObject,
  revision: Revision,
): Uint8Array {
  return stored?.revision === revision ? stored.bytes : withRevision(encoded, revision)
}
