import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { isJsonObject, memberOf, numberMember, textMember } from '../../api/json.ts'
import { checkDns1035Label, checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { bytes, flag, int32, listOf, maybe, part, struct, text, time } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

const serviceSchema = struct(
  'apiregistration.v1.ServiceReference',
  'Reference to a Service.',
  {
    namespace: text(1, 'Namespace of the Service.'),
    name: text(2, 'Name of the Service.'),
    port: int32(3, 'Port of the Service.', { optional: true, default: 443 }),
  },
  { check: checkService },
)

const specSchema = struct(
  'apiregistration.v1.APIServiceSpec',
  'A group and version, and the server that serves it.',
  {
    service: maybe(1, serviceSchema, 'The Service of that server; unset: this server serves it.'),
    group: text(2, 'The group; empty for the core group.'),
    version: text(3, 'The version.'),
    insecureSkipTLSVerify: flag(4, 'Whether the certificate of the server is not verified.'),
    caBundle: bytes(5, 'Certificates (PEM) to verify the server with.'),
    groupPriorityMinimum: int32(7, 'Priority of the group in discovery, at most 20000.', {
      ...{ required: true, always: true },
    }),
    versionPriority: int32(8, 'Priority of the version within the group, at most 1000.', {
      ...{ required: true, always: true },
    }),
  },
  { check: checkSpec },
)

const conditionSchema = struct(
  'apiregistration.v1.APIServiceCondition',
  'One aspect of the observed state.',
  {
    type: text(1, 'Type of the condition: Available.', { required: true }),
    status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
    lastTransitionTime: time(3, 'Time of the last change of the status.'),
    reason: text(4, 'Machine-readable reason, in CamelCase.'),
    message: text(5, 'Human-readable message.'),
  },
)

export const apiServiceSchema = struct(
  'apiregistration.v1.APIService',
  'A group and version of the API, and the server that serves it.',
  {
    spec: part(2, specSchema, 'The group and version, and the server.'),
    status: part(
      3,
      struct('apiregistration.v1.APIServiceStatus', 'Observed state.', {
        conditions: listOf(1, conditionSchema, 'Conditions, such as Available.', {
          ...{ patchMergeKey: 'type', patchStrategy: 'merge', listType: 'map', listMapKeys: ['type'] },
        }),
      }),
      'Observed state.',
    ),
  },
)

const GROUP_PRIORITY_MAX = 20_000
const VERSION_PRIORITY_MAX = 1000

/** @source kube-aggregator `pkg/apis/apiregistration/validation`, ValidateAPIService */
function checkSpec(spec: JsonObject, at: Path | null, found: Findings): void {
  const [group, version] = [textMember(spec, 'group'), textMember(spec, 'version')]
  if (group === '' && version !== 'v1') {
    const words = 'only v1 may have an empty group and it better be legacy kube'
    found.add(required(fieldAt(at, 'group'), words))
  }
  for (const wrong of group === '' ? [] : checkDns1123Subdomain(group))
    found.add(invalid(fieldAt(at, 'group'), group, wrong))
  for (const wrong of checkDns1035Label(version)) found.add(invalid(fieldAt(at, 'version'), version, wrong))
  for (const [name, most] of [
    ['groupPriorityMinimum', GROUP_PRIORITY_MAX],
    ['versionPriority', VERSION_PRIORITY_MAX],
  ] as const) {
    const priority = numberMember(spec, name) ?? 0
    if (priority <= 0 || priority > most)
      found.add(invalid(fieldAt(at, name), priority, `must be positive and less than ${most}`))
  }
  checkTrust(spec, at, found)
}

function checkTrust(spec: JsonObject, at: Path | null, found: Findings): void {
  const bundle = textMember(spec, 'caBundle')
  const isInsecure = memberOf(spec, 'insecureSkipTLSVerify') === true
  const place = fieldAt(at, 'insecureSkipTLSVerify')
  if (isJsonObject(memberOf(spec, 'service'))) {
    if (isInsecure && bundle !== '') found.add(invalid(place, true, 'may not be true if caBundle is present'))
    return
  }
  if (bundle !== '') {
    const length = `${Buffer.from(bundle, 'base64').byteLength} bytes`
    found.add(invalid(fieldAt(at, 'caBundle'), length, 'local APIServices may not have a caBundle'))
  }
  if (isInsecure) found.add(invalid(place, true, 'local APIServices may not have insecureSkipTLSVerify'))
}

function checkService(service: JsonObject, at: Path | null, found: Findings): void {
  for (const name of ['namespace', 'name'])
    if (textMember(service, name) === '') found.add(required(fieldAt(at, name)))
  const port = numberMember(service, 'port') ?? 0
  if (port >= 1 && port <= 65_535) return
  const words = 'port is not valid: must be between 1 and 65535, inclusive'
  found.add(invalid(fieldAt(at, 'port'), port, words))
}
