import { badRequest } from '../errors/standard-errors.ts'
import type { JsonObject } from '../json.ts'
import { bodyLimits } from '../limits.ts'
import { namesOf } from '../metadata/names.ts'
import type { ObjectSchema } from '../schema/schema.ts'
import { decodeProtobufMessage } from './protobuf-decode.ts'
import { PROTOBUF_MAGIC } from './protobuf-envelope.ts'
import { Malformed, ProtobufReader } from './protobuf-reader.ts'

/**
 * Decodes an object from its protobuf form: a message in the envelope of spec 4.7.
 *
 * @throws ApiError BadRequest that names the member: another format, or truncated;
 *   RequestEntityTooLarge: too many values
 * @source spec 4.7; apimachinery `pkg/runtime/serializer/protobuf`
 */
export function decodeProtobuf(
  schema: ObjectSchema,
  bytes: Uint8Array,
  valuesMax: number = bodyLimits.valuesMax,
): JsonObject {
  if (PROTOBUF_MAGIC.some((byte, at) => bytes[at] !== byte)) {
    throw badRequest('provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00')
  }
  try {
    const { apiVersion, kind, raw } = openEnvelope(bytes.subarray(PROTOBUF_MAGIC.length))
    return { kind, apiVersion, ...decodeProtobufMessage(schema, raw, valuesMax) }
  } catch (cause) {
    if (!(cause instanceof Malformed)) throw cause
    const words = cause.path === '' ? cause.message : `${cause.path}: ${cause.message}`
    throw badRequest(`the body is not a readable protobuf message: ${words}`, { cause })
  }
}

type Envelope = { readonly apiVersion: string; readonly kind: string; readonly raw: Uint8Array }

const MEDIA_TYPES: ReadonlySet<string> = new Set([
  '',
  namesOf('orch.io').protobufMediaType,
  namesOf('k8s.io').protobufMediaType,
])

function openEnvelope(bytes: Uint8Array): Envelope {
  const reader = new ProtobufReader(bytes)
  let type = { apiVersion: '', kind: '' }
  let raw: Uint8Array | null = null
  while (reader.more) {
    const tag = reader.tag()
    const number = tag >>> 3
    if (number === 1) type = readType(reader, tag & 7)
    else if (number === 2) raw = reader.bytes(tag & 7)
    else if (number === 3) refuseOther('compressed or otherwise encoded', reader.text(tag & 7) === '')
    else if (number === 4) refuseOther('of another media type', MEDIA_TYPES.has(reader.text(tag & 7)))
    else reader.skip(tag & 7)
  }
  if (raw === null) throw new Malformed('it holds no object')
  return { ...type, raw }
}

function readType(reader: ProtobufReader, wire: number): { apiVersion: string; kind: string } {
  const type = { apiVersion: '', kind: '' }
  const outer = reader.enter(wire)
  while (reader.more) {
    const tag = reader.tag()
    if (tag >>> 3 === 1) type.apiVersion = reader.text(tag & 7)
    else if (tag >>> 3 === 2) type.kind = reader.text(tag & 7)
    else reader.skip(tag & 7)
  }
  reader.leave(outer)
  return type
}

function refuseOther(what: string, isOurs: boolean): void {
  if (!isOurs) throw new Malformed(`its content is ${what}`)
}
