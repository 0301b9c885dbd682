import type { Findings } from '../api/errors/findings.ts'
import { ageText } from '../api/metadata/age.ts'
import { duplicate, invalid, notSupported, required } from '../api/errors/field-error.ts'
import { numberMember, objectMember, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../api/json.ts'
import { checkPathSegment } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { bytes, int32, listOf, mapOf, part, struct, text, texts, time } from '../api/schema/build.ts'
import { readCertificateRequest } from '../pki/certificate-request.ts'
import { PkiError } from '../pki/errors.ts'
import { ageColumn, cellAt, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition, WriteContext } from '../registry/kinds/definition.ts'
import { extraValueSchema } from './reviews/extra-value.ts'
import { checkDecisions, checkStatus, keepingDecisions, withTimes } from './certificates/signing-status.ts'
import { checkSignerName } from './certificates/signer-name.ts'
import { keeping } from './common/status-subresource.ts'

/** A request for a certificate, with its decision and result. @source spec 2.11, 3.2 */
export function certificateSigningRequestDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('certificates'),
    version: 'v1',
    kind: 'CertificateSigningRequest',
    plural: 'certificatesigningrequests',
    singular: 'certificatesigningrequest',
    shortNames: ['csr'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: certificateSigningRequestSchema,
    validateName: checkPathSegment,
    deleteReturnsObject: false,
    selectableFields: ['spec.signerName'],
    columns,
    hooks: {
      prepareForCreate: (object, writing) => ({ ...withRequester(object, writing), status: {} }),
      prepareForUpdate: (object, current) => keeping(object, current, 'spec', 'status'),
      validate: (object, found) => {
        checkSpec(object, names, found)
        checkStatus(object, found)
      },
    },
    subresources: [
      {
        name: 'approval',
        verbs: ['get', 'patch', 'update'],
        prepareForUpdate: onlyConditions,
        validateUpdate: (object, current, found) => checkDecisions(object, current, 'approval', found),
      },
      {
        name: 'status',
        verbs: ['get', 'patch', 'update'],
        prepareForUpdate: (object, current, writing) =>
          withTimes(keepingDecisions(keeping(object, current, 'spec'), current), current, writing.time),
        validateUpdate: (object, current, found) => checkDecisions(object, current, 'status', found),
      },
    ],
  } satisfies ResourceDefinition)
}

const usages = [
  ...['any', 'cert sign', 'client auth', 'code signing', 'content commitment', 'crl sign'],
  ...['data encipherment', 'decipher only', 'digital signature', 'email protection', 'encipher only'],
  ...['ipsec end system', 'ipsec tunnel', 'ipsec user', 'key agreement', 'key encipherment'],
  ...['microsoft sgc', 'netscape sgc', 'ocsp signing', 's/mime', 'server auth', 'signing', 'timestamping'],
]

const specSchema = struct(
  'certificates.v1.CertificateSigningRequestSpec',
  'The requested certificate and the requester.',
  {
    request: bytes(1, 'The request: PKCS #10 in PEM, in base64.', { required: true }),
    signerName: text(7, 'Name of the signer, such as example.com/signer-name.', {
      required: true,
      rule: checkSignerName,
    }),
    expirationSeconds: int32(
      8,
      'Requested lifetime in seconds, at least 600; the signer may issue a shorter one.',
      {
        optional: true,
      },
    ),
    usages: listOf(5, { type: 'string', enum: usages }, 'Requested key usages.', {
      listType: 'atomic',
    }),
    username: text(2, 'Username of the requester; set by the server.'),
    uid: text(3, 'UID of the requester; set by the server.'),
    groups: texts(4, 'Groups of the requester; set by the server.', { listType: 'atomic' }),
    extra: mapOf(6, extraValueSchema, 'Extra attributes of the requester; set by the server.'),
  },
)

const conditionSchema = struct(
  'certificates.v1.CertificateSigningRequestCondition',
  'A condition of a certificate signing request.',
  {
    type: text(1, 'Type of the condition: Approved, Denied, Failed, or a type of the signer.', {
      required: true,
    }),
    status: text(6, 'Status: True for Approved, Denied and Failed; others may also be False or Unknown.', {
      required: true,
    }),
    reason: text(2, 'Machine-readable reason, in CamelCase.'),
    message: text(3, 'Human-readable message.'),
    lastUpdateTime: time(4, 'Time of the last update; defaults to the current time.'),
    lastTransitionTime: time(5, 'Time of the last change of the status; defaults to the current time.'),
  },
)

const statusSchema = struct(
  'certificates.v1.CertificateSigningRequestStatus',
  'Observed state of a certificate signing request.',
  {
    conditions: listOf(1, conditionSchema, 'Conditions of the request.', {
      listType: 'map',
      listMapKeys: ['type'],
    }),
    certificate: bytes(2, 'Issued certificate chain: PEM, in base64.'),
  },
)

const certificateSigningRequestSchema = struct(
  'certificates.v1.CertificateSigningRequest',
  'A request for a certificate; an approver decides and a signer issues it.',
  {
    spec: part(2, specSchema, 'The requested certificate; immutable.', { required: true, always: true }),
    status: part(3, statusSchema, 'Observed state of the request.'),
  },
)

/** Sets the requester to the caller, whatever the body names. */
function withRequester(object: AnyObject, { user }: WriteContext): AnyObject {
  const spec: JsonObjectDraft = { ...objectMember(object, 'spec') }
  for (const name of ['username', 'uid', 'groups', 'extra']) delete spec[name]
  if (user.name !== '') spec['username'] = user.name
  if (user.uid !== '') spec['uid'] = user.uid
  if (user.groups.length > 0) spec['groups'] = user.groups
  if (Object.keys(user.extra).length > 0) spec['extra'] = user.extra
  return { ...object, spec }
}

function onlyConditions(object: AnyObject, current: AnyObject, { time: now }: WriteContext): AnyObject {
  const { certificate } = objectMember(current, 'status')
  const conditions = objectsMember(objectMember(object, 'status'), 'conditions')
  const status: JsonObject = {
    ...(conditions.length === 0 ? {} : { conditions }),
    ...(certificate === undefined ? {} : { certificate }),
  }
  return withTimes({ ...keeping(object, current, 'spec'), status }, current, now)
}

/** @source spec 2.11; upstream `pkg/apis/certificates/validation` */
function checkSpec(object: AnyObject, names: Names, found: Findings): void {
  const spec = objectMember(object, 'spec')
  checkRequest(spec, found)
  checkUsages(spec, found)
  const signer = textMember(spec, 'signerName')
  if (signer === names.signers.legacyUnknown) {
    found.add(invalid('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'))
  }
  const seconds = numberMember(spec, 'expirationSeconds')
  if (seconds !== null && seconds < secondsMin) {
    const words = `may not specify a duration less than ${secondsMin} seconds (10 minutes)`
    found.add(invalid('spec.expirationSeconds', seconds, words))
  }
}

/** @source spec 8 */
const secondsMin = 600

function checkRequest(spec: JsonObject, found: Findings): void {
  const request = textMember(spec, 'request')
  if (request === '') return
  try {
    readCertificateRequest(Buffer.from(request, 'base64').toString('latin1'))
    return
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    // The error omits the value: it may be a private key by mistake, and errors are audited.
    found.add(invalid('spec.request', '<request data>', cause.message))
    return
  }
}

function checkUsages(spec: JsonObject, found: Findings): void {
  const wanted = textsMember(spec, 'usages')
  if (wanted.length === 0) {
    found.add(required('spec.usages', 'usages are required for CertificateSigningRequest'))
  }
  const seen = new Set<string>()
  for (const [at, usage] of wanted.entries()) {
    const field = `spec.usages[${at}]`
    if (usage === '') found.add(notSupported(field, usage, usages))
    if (seen.has(usage)) found.add(duplicate(field, usage))
    seen.add(usage)
  }
}

const columns: readonly Column[] = [
  nameColumn,
  ageColumn,
  {
    name: 'SignerName',
    type: 'string',
    description: 'Name of the signer.',
    cell: (object) => cellAt(object, 'spec', 'signerName'),
  },
  {
    name: 'Requestor',
    type: 'string',
    description: 'Username of the requester.',
    cell: (object) => cellAt(object, 'spec', 'username'),
  },
  {
    name: 'RequestedDuration',
    type: 'string',
    description: 'Requested lifetime of the certificate.',
    cell: (object) => {
      const seconds = numberMember(objectMember(object, 'spec'), 'expirationSeconds')
      return seconds === null ? '<none>' : ageText(seconds * 1000)
    },
  },
  {
    name: 'Condition',
    type: 'string',
    description: 'State of the request: Pending, Approved or Denied, then Failed or Issued.',
    cell: conditionText,
  },
]

function conditionText(object: AnyObject): string {
  const status = objectMember(object, 'status')
  const types = objectsMember(status, 'conditions').map((condition) => textMember(condition, 'type'))
  let words = 'Pending'
  if (types.includes('Denied')) words = 'Denied'
  else if (types.includes('Approved')) words = 'Approved'
  if (types.includes('Failed')) words += ',Failed'
  if (textMember(status, 'certificate') !== '') words += ',Issued'
  return words
}
