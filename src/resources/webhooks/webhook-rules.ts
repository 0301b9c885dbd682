import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { listOf, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

/**
 * The requests that a webhook is called for.
 *
 * @source spec 4.6; upstream `pkg/apis/admissionregistration/validation`
 */

const ruleSchema = struct(
  'admissionregistration.v1.Rule',
  'Resources that a rule matches.',
  {
    apiGroups: texts(1, 'API groups; an empty string means the core group, * all groups.'),
    apiVersions: texts(2, 'API versions; * means all.'),
    resources: texts(
      3,
      'Resources: pods, pods/log, pods/*, */status; * means all without subresources, */* all with them.',
    ),
    scope: text(4, 'Scope: Cluster, Namespaced, or * for both.', {
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
  'Operations and resources that a rule matches.',
  {
    operations: listOf(
      1,
      { type: 'string', enum: operations },
      'Operations: CREATE, UPDATE, DELETE, CONNECT; * means all.',
    ),
  },
  { inline: [{ number: 2, schema: ruleSchema }], check: checkOperations },
)

function checkRule(rule: JsonObject, at: Path | null, found: Findings): void {
  checkAlone(rule, at, 'apiGroups', 'API groups', found)
  checkAlone(rule, at, 'apiVersions', 'API versions', found)
  checkResources(textsMember(rule, 'resources'), at, found)
  for (const [index, version] of textsMember(rule, 'apiVersions').entries()) {
    if (version === '') found.add(required(fieldAt(at, 'apiVersions', index)))
  }
}

function checkOperations(rule: JsonObject, at: Path | null, found: Findings): void {
  checkAlone(rule, at, 'operations', 'operations', found)
  for (const [index, operation] of textsMember(rule, 'operations').entries()) {
    if (operation === '') found.add(required(fieldAt(at, 'operations', index)))
  }
}

/** Checks that a list is not empty, and that an asterisk is its only element. */
function checkAlone(rule: JsonObject, at: Path | null, member: string, what: string, found: Findings): void {
  const list = textsMember(rule, member)
  const field = fieldAt(at, member)
  if (list.length === 0) {
    found.add(required(field))
    return
  }
  if (list.length === 1 || !list.includes('*')) return
  found.add(invalid(field, list, `if '*' is present, must not specify other ${what}`))
}

/** Checks the resources of a rule; another entry must not cover the same ones. */
function checkResources(list: readonly string[], at: Path | null, found: Findings): void {
  const field = fieldAt(at, 'resources')
  if (list.length === 0) {
    found.add(required(field))
    return
  }
  const [wholeResources, wholeSubresources] = [new Set<string>(), new Set<string>()]
  for (const [index, entry] of list.entries()) {
    const here = fieldAt(at, 'resources', index)
    if (entry === '') found.add(required(here))
    const slash = entry.indexOf('/')
    if (slash < 0) continue
    const [resource, subresource] = [entry.slice(0, slash), entry.slice(slash + 1)]
    if (wholeResources.has(resource)) {
      found.add(invalid(here, entry, `if '${resource}/*' is present, must not specify ${entry}`))
    }
    if (wholeSubresources.has(subresource)) {
      found.add(invalid(here, entry, `if '*/${subresource}' is present, must not specify ${entry}`))
    }
    if (subresource === '*') wholeResources.add(resource)
    if (resource === '*') wholeSubresources.add(subresource)
  }
  if (list.length > 1 && list.includes('*/*')) {
    found.add(invalid(field, list, "if '*/*' is present, must not specify other resources"))
  }
  if (list.includes('*') && list.some((entry) => entry !== '*' && !entry.includes('/'))) {
    const words = "if '*' is present, must not specify other resources without subresources"
    found.add(invalid(field, list, words))
  }
}
