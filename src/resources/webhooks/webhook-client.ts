import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { memberOf, numberMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { bytes, int32, maybe, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'

/**
 * The endpoint of a webhook.
 *
 * @source spec 4.6; upstream `apiserver pkg/util/webhook/validation.go`
 */

const serviceReferenceSchema = struct(
  'admissionregistration.v1.ServiceReference',
  'Reference to a Service.',
  {
    namespace: text(1, 'Namespace of the Service.', { required: true }),
    name: text(2, 'Name of the Service.', { required: true }),
    path: text(3, 'Path of the request; / by default.', { optional: true }),
    port: int32(4, 'Port of the Service.', { optional: true, default: 443 }),
  },
  { check: checkWebhookService },
)

export const webhookClientConfigSchema = struct(
  'admissionregistration.v1.WebhookClientConfig',
  'Address of a webhook: a URL or a Service.',
  {
    url: text(3, 'URL of the webhook: https, without user, query or fragment.', { optional: true }),
    service: maybe(1, serviceReferenceSchema, 'Service in front of the webhook.'),
    caBundle: bytes(2, "CA bundle that verifies the webhook's certificate: PEM, in base64."),
  },
  { check: checkWebhookClient },
)

export function checkWebhookClient(config: JsonObject, at: Path | null, found: Findings): void {
  const url = memberOf(config, 'url')
  if ((url === undefined) === (memberOf(config, 'service') === undefined)) {
    found.add(required(spellPath(at), 'exactly one of url or service is required'))
    return
  }
  if (typeof url === 'string') checkUrl(url, fieldAt(at, 'url'), found)
}

const form = '; desired format: https://host[/path]'

function checkUrl(text: string, field: string, found: Findings): void {
  // The part before the path is checked in its original form, because a URL parser would normalize
  // it.
  const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(
    text,
  )
  if (match === null || !isReadable(text)) {
    found.add(required(field, `url must be a valid URL${form}`))
    return
  }
  const [, scheme = '', authority = '', , query = '', fragment = ''] = match
  const userEnd = authority.lastIndexOf('@')
  const host = authority.slice(userEnd + 1)
  if (scheme.toLowerCase() !== 'https') {
    found.add(invalid(field, scheme, `'https' is the only allowed URL scheme${form}`))
  }
  if (host === '') found.add(invalid(field, host, `host must be specified${form}`))
  if (userEnd >= 0) {
    const user = authority.slice(0, userEnd).replace(/:.*/s, ':xxxxx')
    found.add(invalid(field, user, 'user information is not permitted in the URL'))
  }
  if (fragment !== '') found.add(invalid(field, fragment, 'fragments are not permitted in the URL'))
  if (query !== '') found.add(invalid(field, query, 'query parameters are not permitted in the URL'))
}

/**
 * A URL without a host is not parsed; other errors report it. A backslash before the path would end
 * the host for a URL parser, but not for other readers; control characters would be dropped. A
 * space before the path is never valid.
 */
function isReadable(text: string): boolean {
  if (/^[^:]*:\/\/[^/?#]*[\\ ]/.test(text) || /\p{Cc}/u.test(text)) return false
  return !/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?#]/.test(text) || URL.canParse(text)
}

export function checkWebhookService(service: JsonObject, at: Path | null, found: Findings): void {
  const port = numberMember(service, 'port')
  if (port !== null && (port < 1 || port > 65_535)) {
    const words = 'port is not valid: must be between 1 and 65535, inclusive'
    found.add(invalid(fieldAt(at, 'port'), port, words))
  }
  const path = textMember(service, 'path')
  for (const words of wrongInPath(path)) {
    if (found.isFull) break
    found.add(invalid(fieldAt(at, 'path'), path, words))
  }
}

/** A generator, because a path of megabytes may have a million invalid segments. */
function* wrongInPath(path: string): Generator<string, void> {
  if (path === '' || path === '/') return
  if (path === '//') {
    yield 'segment[0] may not be empty'
    return
  }
  if (!path.startsWith('/')) yield "must start with a '/'"
  const steps = path.slice(1).replace(/\/$/, '').split('/')
  for (const [at, step] of steps.entries()) {
    if (PLAIN_SEGMENT.test(step)) continue
    if (step === '') yield `segment[${at}] may not be empty`
    else for (const words of checkDns1123Subdomain(step)) yield `segment[${at}]: ${words}`
  }
}

/** The common case: a valid segment that needs no further check. */
const PLAIN_SEGMENT = /^[a-z0-9]{1,63}$/
