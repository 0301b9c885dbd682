import { present } from '../../../base/assert.ts'
import { encodeDocument } from '../../api/codec/document.ts'
import type { Encoding } from '../../api/codec/document.ts'
import { textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { discoverySchemas } from '../../api/schema/discovery.ts'
import { encodingWanted } from '../http/accept.ts'
import type { Reply, Request } from '../calls/fastify-types.ts'
import { contentHash } from '../http/content-hash.ts'
import { sendDocument } from '../responses/static-document.ts'
import type { StaticDocument } from '../responses/static-document.ts'
import { sendJsonDocument } from '../responses/json-reply.ts'

/**
 * Sends a discovery document in the encoding that the client accepts.
 *
 * @param document JSON of a kind in `discoverySchemas`
 * @throws ApiError `NotAcceptable`
 */
export function sendDiscoveryDocument(request: Request, reply: Reply, document: StaticDocument): void {
  const { encoding, contentType } = encodingWanted(request.raw.headers.accept)
  if (encoding === 'json') sendJsonDocument(request, reply, document)
  else sendDocument(request, reply, encodedOnce(document, encoding), contentType)
}

/** Made on first request; one per document and encoding. */
const encodedForms = new WeakMap<StaticDocument, Map<Encoding, StaticDocument>>()

function encodedOnce(document: StaticDocument, encoding: Encoding): StaticDocument {
  let forms = encodedForms.get(document)
  if (forms === undefined) {
    forms = new Map()
    encodedForms.set(document, forms)
  }
  let form = forms.get(encoding)
  if (form === undefined) {
    const value = JSON.parse(Buffer.from(document.bytes).toString('utf8')) as JsonObject
    const kind = textMember(value, 'kind')
    const schema = present(discoverySchemas.get(kind), `${kind} has a schema`)
    const bytes = encodeDocument(encoding, schema, value)
    form = { bytes, etag: `"${contentHash(bytes)}"` }
    forms.set(encoding, form)
  }
  return form
}
