import type { Encoding } from '../../api/codec/document.ts'
import { JsonIndenter } from '../../api/codec/json-indenter.ts'
import type { Call } from '../calls/call.ts'
import { firstOf } from '../http/query.ts'

/**
 * Whether a person will read the response: the request has `pretty`, in the query or in
 * `Accept`, or it comes from a browser or a similar tool. Only JSON is pretty-printed: YAML is
 * readable already. Watches never are: clients read them line by line.
 *
 * @source spec 4.2; apiserver `pkg/endpoints/handlers/negotiation`
 */
export function wantsPretty(call: Call): boolean {
  const { query } = call.info
  const requested = query.size === 0 ? null : firstOf(query, 'pretty')
  if (PRETTY_PARAMETER.test(call.raw.headers.accept ?? '')) return true
  if (requested !== null && requested !== '') return YES.test(requested)
  return SHOWING_TOOLS.test(call.userAgent)
}

/** A parameter of an accepted media type; only `1` counts. */
const PRETTY_PARAMETER = /;[ \t]*pretty="?1"?[ \t]*(?:[;,]|$)/i

/** The texts that Go parses as true. */
const YES = /^(1|t|T|true|TRUE|True)$/
const SHOWING_TOOLS = /^(curl|Wget|Mozilla\/5\.0)/

/** Returns a document as the caller wants it. */
export function laidOut(call: Call | null, encoding: Encoding, bytes: Uint8Array): Uint8Array {
  return encoding === 'json' && call !== null && wantsPretty(call) ? new JsonIndenter().write(bytes) : bytes
}

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Returns a document in pieces as the caller wants it, produced only as fast as it is pulled. */
export function laidOutPieces(call: Call, encoding: Encoding, pieces: Pieces): Pieces {
  if (encoding !== 'json' || !wantsPretty(call)) return pieces
  return Symbol.iterator in pieces ? now(pieces) : later(pieces)
}

function* now(pieces: Iterable<Uint8Array>): Generator<Uint8Array, void> {
  const indenter = new JsonIndenter()
  for (const piece of pieces) yield indenter.write(piece)
}

async function* later(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const indenter = new JsonIndenter()
  for await (const piece of pieces) yield indenter.write(piece)
}
