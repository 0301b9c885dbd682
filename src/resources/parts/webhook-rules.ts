import type { ApiErrorCause } from '../../api/api-error.ts'
import { invalid, required } from '../../api/field-error.ts'
import { textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { listOf, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

/** Which requests a webhook is asked about. @source spec 4.6; upstream `pkg/apis/admissionregistration/validation` */

const ruleSchema = struct(
  'admissionregistration.v1.Rule',
  'Which resources are meant.',
  {
    apiGroups: texts(1, 'Groups; empty text is the core group, * all groups.'),
    apiVersions: texts(2, 'Versions; * is all of them.'),
    resources: texts(
      3,
      'Resources: pods, pods/log; * is all without and */* all with their subresources, pods/* and */status what they say.',
    ),
    scope: text(4, 'Cluster, Namespaced, or * for both.', {
      optional: true,
      default: '*',
      enum: ['*', 'Cluster', 'Namespaced'],
    }),
  },
  { check: checkRule },
)

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

export const ruleWithOperationsSchema = struct(
  'admissionregistration.v1.RuleWithOperations',
  'Which operations on which resources are meant.',
  {
    operations: listOf(
      1,
      { type: 'string', enum: operations },
      'Operations: CREATE, UPDATE, DELETE, CONNECT; * is all.',
    ),
  },
  { inline: [{ number: 2, schema: ruleSchema }], check: checkOperations },
)

function checkRule(rule: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const causes = [
    ...checkAlone(rule, at, 'apiGroups', 'API groups'),
    ...checkAlone(rule, at, 'apiVersions', 'API versions'),
    ...checkResources(textsMember(rule, 'resources'), at),
  ]
  for (const [index, version] of textsMember(rule, 'apiVersions').entries()) {
    if (version === '') causes.push(required(fieldAt(at, 'apiVersions', index)))
  }
  return causes
}

function checkOperations(rule: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const causes = [...checkAlone(rule, at, 'operations', 'operations')]
  for (const [index, operation] of textsMember(rule, 'operations').entries()) {
    if (operation === '') causes.push(required(fieldAt(at, 'operations', index)))
  }
  return causes
}

/** There are some, and an asterisk stands alone. */
function checkAlone(
  rule: JsonObject,
  at: Path | null,
  member: string,
  what: string,
): readonly ApiErrorCause[] {
  const list = textsMember(rule, member)
  const field = fieldAt(at, member)
  if (list.length === 0) return [required(field)]
  if (list.length === 1 || !list.includes('*')) return []
  return [invalid(field, list, `if '*' is present, must not specify other ${what}`)]
}

/** What one entry covers, no other says again. */
function checkResources(list: readonly string[], at: Path | null): readonly ApiErrorCause[] {
  const field = fieldAt(at, 'resources')
  if (list.length === 0) return [required(field)]
  const causes: ApiErrorCause[] = []
  const [wholeResources, wholeSubresources] = [new Set<string>(), new Set<string>()]
  for (const [index, entry] of list.entries()) {
    const here = fieldAt(at, 'resources', index)
    if (entry === '') causes.push(required(here))
    const slash = entry.indexOf('/')
    if (slash < 0) continue
    const [resource, subresource] = [entry.slice(0, slash), entry.slice(slash + 1)]
    if (wholeResources.has(resource)) {
      causes.push(invalid(here, entry, `if '${resource}/*' is present, must not specify ${entry}`))
    }
    if (wholeSubresources.has(subresource)) {
      causes.push(invalid(here, entry, `if '*/${subresource}' is present, must not specify ${entry}`))
    }
    if (subresource === '*') wholeResources.add(resource)
    if (resource === '*') wholeSubresources.add(subresource)
  }
  if (list.length > 1 && list.includes('*/*')) {
    causes.push(invalid(field, list, "if '*/*' is present, must not specify other resources"))
  }
  if (list.includes('*') && list.some((entry) => entry !== '*' && !entry.includes('/'))) {
    const words = "if '*' is present, must not specify other resources without subresources"
    causes.push(invalid(field, list, words))
  }
  return causes
}
