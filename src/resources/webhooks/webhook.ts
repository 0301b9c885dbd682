import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, invalid, required } from '../../api/errors/field-error.ts'
import { memberOf, numberMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1035Label, checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import type { Names } from '../../api/metadata/names.ts'
import { int32, listOf, maybe, part, text, texts } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { ageColumn, nameColumn } from '../../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../../registry/kinds/definition.ts'
import { selectorSchema } from '../common/selector.ts'
import { webhookClientConfigSchema } from './webhook-client.ts'
import { ruleWithOperationsSchema } from './webhook-rules.ts'

/** Parts shared by mutating and validating webhooks. @source spec 4.6 */

/** Versions of AdmissionReview that this server supports. */
const reviewVersions = ['v1', 'v1beta1']
const secondsMax = 30

/** @param objectSelector its field number, which differs between the two kinds of webhooks */
export function webhookFields(numbers: { readonly objectSelector: number }): {
  readonly [name: string]: Field
} {
  return {
    name: text(1, 'Name of the webhook, such as check.example.com; unique in its configuration.', {
      required: true,
      rule: checkWebhookName,
    }),
    clientConfig: part(2, webhookClientConfigSchema, 'Address of the webhook.', {
      required: true,
      always: true,
    }),
    rules: listOf(3, ruleWithOperationsSchema, 'Operations and resources that the webhook receives.'),
    failurePolicy: text(4, 'Failure policy if the webhook is unavailable: Fail or Ignore.', {
      optional: true,
      default: 'Fail',
      enum: ['Fail', 'Ignore'],
    }),
    matchPolicy: text(9, 'Whether rules match other versions of a resource: Equivalent, or Exact.', {
      optional: true,
      default: 'Equivalent',
      enum: ['Equivalent', 'Exact'],
    }),
    namespaceSelector: maybe(5, selectorSchema, 'Label selector of the namespaces.', { default: {} }),
    objectSelector: maybe(numbers.objectSelector, selectorSchema, 'Label selector of the objects.', {
      default: {},
    }),
    sideEffects: text(6, 'Side effects of calls: None, or NoneOnDryRun.', {
      required: true,
      optional: true,
      enum: ['None', 'NoneOnDryRun'],
    }),
    timeoutSeconds: int32(7, 'Timeout of a call in seconds, 1 to 30.', { optional: true, default: 10 }),
    admissionReviewVersions: texts(8, 'Supported AdmissionReview versions, in order of preference.', {
      required: true,
    }),
  }
}

/** Checks that a name is a domain name of at least three labels. */
function checkWebhookName(text: string): readonly string[] {
  const wrong = checkDns1123Subdomain(text)
  if (wrong.length > 0) return [wrong.join(',')]
  return text.split('.').length < 3
    ? ['should be a domain with at least three segments separated by dots']
    : []
}

export function checkWebhook(webhook: JsonObject, at: Path | null, found: Findings): void {
  checkVersions(textsMember(webhook, 'admissionReviewVersions'), at, found)
  const seconds = numberMember(webhook, 'timeoutSeconds')
  if (seconds !== null && (seconds < 1 || seconds > secondsMax)) {
    const words = `the timeout value must be between 1 and ${secondsMax} seconds`
    found.add(invalid(fieldAt(at, 'timeoutSeconds'), seconds, words))
  }
  // Unlike absence, an empty text is invalid for these optional members.
  for (const name of ['failurePolicy', 'matchPolicy', 'reinvocationPolicy']) {
    if (memberOf(webhook, name) === '') found.add(required(fieldAt(at, name)))
  }
}

function checkVersions(versions: readonly string[], at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  for (const [index, version] of versions.entries()) {
    const field = fieldAt(at, 'admissionReviewVersions', index)
    if (seen.has(version)) found.add(duplicate(field, version))
    else for (const words of checkDns1035Label(version)) found.add(invalid(field, version, words))
    seen.add(version)
  }
  if (versions.length > 0 && !versions.some((version) => reviewVersions.includes(version))) {
    const words = `must include at least one of ${reviewVersions.join(', ')}`
    found.add(invalid(fieldAt(at, 'admissionReviewVersions'), versions, words))
  }
}

/** Names of the webhooks in a configuration must be distinct. */
function checkWebhookNames(object: AnyObject, found: Findings): void {
  const names = objectsMember(object, 'webhooks').map((webhook) => textMember(webhook, 'name'))
  const seen = new Set<string>()
  for (const [at, name] of names.entries()) {
    if (seen.has(name)) found.add(duplicate(`webhooks[${at}].name`, name))
    seen.add(name)
  }
}

const webhookColumns: readonly Column[] = [
  nameColumn,
  {
    name: 'Webhooks',
    type: 'integer',
    description: 'Number of webhooks.',
    cell: (object) => objectsMember(object, 'webhooks').length,
  },
  ageColumn,
]

export function webhookConfigurationBasics(names: Names) {
  return {
    group: names.group('admissionregistration'),
    version: 'v1',
    shortNames: [],
    categories: ['api-extensions'],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    tracksGeneration: true,
    columns: webhookColumns,
    hooks: { validate: checkWebhookNames },
    subresources: [],
  } satisfies Partial<ResourceDefinition>
}
