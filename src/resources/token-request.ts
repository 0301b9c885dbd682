import type { Findings } from '../api/errors/findings.ts'
import { badRequest, conflict, notFound } from '../api/errors/standard-errors.ts'
import { invalid } from '../api/errors/field-error.ts'
import { integerMember, isJsonObject, memberOf, numberMember, objectMember } from '../api/json.ts'
import { textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { formatTime } from '../api/metadata/time.ts'
import { int64, maybe, part, struct, text, texts, time } from '../api/schema/build.ts'
import { fieldAt } from '../api/schema/path.ts'
import type { Path } from '../api/schema/path.ts'
import type { AnyObject, OperationContext, OperationSubresource } from '../registry/kinds/definition.ts'
import type { TokenObject } from '../registry/kinds/token-issuer.ts'

/**
 * `serviceaccounts/token`: issues a token of the account, for a time and for audiences, and bound
 * to a Pod or a Secret if the request names one. A dry run issues none.
 *
 * @source spec 5.6; core `pkg/registry/core/serviceaccount/storage/token.go`
 */
export function tokenRequest(names: Names): OperationSubresource {
  return {
    name: 'token',
    verbs: ['create'],
    body: {
      ...{ group: names.group('authentication'), version: 'v1', kind: 'TokenRequest' },
      schema: tokenRequestSchema,
    },
    returnsBody: true,
    operation: (body) => ({ kind: 'answer', answer: (context) => issue(body, context) }),
  }
}

/** The range of token lifetimes, in seconds. */
const SECONDS_MIN = 10 * 60
const SECONDS_MAX = 2 ** 32

const boundObjectReferenceSchema = struct(
  'authentication.v1.BoundObjectReference',
  'An object that a token is bound to: deleting it revokes the token.',
  {
    kind: text(1, 'Kind of the object: Pod or Secret.'),
    apiVersion: text(2, 'API version of the object.'),
    name: text(3, 'Name of the object.'),
    uid: text(4, 'UID of the object; that of the current one when unset.'),
  },
)

const tokenRequestSpecSchema = struct(
  'authentication.v1.TokenRequestSpec',
  'Parameters of a token request.',
  {
    audiences: texts(1, 'Audiences that may accept the token; this API server when empty.', {
      required: true,
      always: true,
    }),
    expirationSeconds: int64(4, 'Requested lifetime in seconds, at least 600.', {
      ...{ optional: true, always: true },
      default: 3600,
    }),
    boundObjectRef: maybe(3, boundObjectReferenceSchema, 'Object that the token is bound to.', {
      always: true,
    }),
  },
  { check: checkLifetime },
)

const tokenRequestStatusSchema = struct(
  'authentication.v1.TokenRequestStatus',
  'Result of a token request.',
  {
    token: text(1, 'The token.', { required: true, always: true }),
    expirationTimestamp: time(2, 'When the token expires.', { required: true, always: true }),
  },
)

const tokenRequestSchema = struct(
  'authentication.v1.TokenRequest',
  'Requests a token of a service account.',
  {
    spec: part(2, tokenRequestSpecSchema, 'Parameters of the request.', { required: true, always: true }),
    status: part(3, tokenRequestStatusSchema, 'Result of the request; set by the server.'),
  },
)

function checkLifetime(spec: JsonObject, at: Path | null, found: Findings): void {
  const seconds = integerMember(spec, 'expirationSeconds')
  if (seconds === null) return
  const field = fieldAt(at, 'expirationSeconds')
  if (seconds < SECONDS_MIN) {
    found.add(invalid(field, seconds, 'may not specify a duration less than 10 minutes'))
  } else if (seconds > SECONDS_MAX) {
    found.add(invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'))
  }
}

/** @throws ApiError */
async function issue(body: AnyObject, context: OperationContext): Promise<AnyObject> {
  const { object, tokens, warn, dryRun } = context
  const spec = objectMember(body, 'spec')
  const requested = textsMember(spec, 'audiences')
  const audiences = requested.length === 0 ? tokens.audiences : requested
  const seconds = numberMember(spec, 'expirationSeconds') ?? 0
  const { name = '', namespace = '', uid = '' } = object.metadata
  const order = {
    ...{ namespace, account: { name, uid }, audiences, expirationSeconds: seconds },
    ...boundObjects(spec, context),
  }
  if (dryRun) return body
  const { token, issuedMs, expirationSeconds } = await tokens.issue(order)
  if (expirationSeconds < seconds) {
    warn(`requested expiration of ${seconds} seconds shortened to ${expirationSeconds} seconds`)
  }
  const { kind, apiVersion } = body
  return {
    ...{ kind, apiVersion },
    metadata: { name, namespace, creationTimestamp: formatTime(issuedMs) },
    spec: { ...spec, audiences, expirationSeconds },
    status: { token, expirationTimestamp: formatTime(issuedMs + expirationSeconds * 1000) },
  }
}

type Bound = { readonly pod: TokenObject | null; readonly secret: TokenObject | null }

/** @throws ApiError */
function boundObjects(spec: JsonObject, context: OperationContext): Bound {
  const reference = memberOf(spec, 'boundObjectRef')
  if (!isJsonObject(reference)) return { pod: null, secret: null }
  const [kind, apiVersion] = [textMember(reference, 'kind'), textMember(reference, 'apiVersion')]
  const isCore = !apiVersion.includes('/')
  if (isCore && kind === 'Pod') return { pod: boundPod(reference, context), secret: null }
  if (isCore && kind === 'Secret')
    return { pod: null, secret: boundObject('secrets', reference, context).bound }
  throw badRequest(`cannot bind token to object of type ${apiVersion}, Kind=${kind}`)
}

/** @throws ApiError */
function boundPod(reference: JsonObject, context: OperationContext): TokenObject {
  const { bound, found } = boundObject('pods', reference, context)
  const name = context.object.metadata.name ?? ''
  if (textMember(objectMember(found, 'spec'), 'serviceAccountName') === name) return bound
  const account = JSON.stringify(name)
  throw badRequest(
    `cannot bind token for serviceaccount ${account} to pod running with different serviceaccount name.`,
  )
}

/** @throws ApiError */
function boundObject(
  plural: 'pods' | 'secrets',
  reference: JsonObject,
  { find }: OperationContext,
): { readonly bound: TokenObject; readonly found: AnyObject } {
  const name = textMember(reference, 'name')
  const found = find(plural, name)
  if (found === null) throw notFound({ group: '', resource: plural }, name)
  const uid = found.metadata.uid ?? ''
  const wanted = textMember(reference, 'uid')
  if (wanted !== '' && wanted !== uid) {
    const kind = textMember(reference, 'kind')
    const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`
    throw conflict({ group: '', resource: kind }, name, why)
  }
  return { bound: { name, uid }, found }
}
