import { causesOf } from '../api/errors/findings.ts'
import type { Findings } from '../api/errors/findings.ts'
import { CodedError } from '../../base/coded-error.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { parseYamlObject } from '../api/codec/yaml.ts'
import { invalid, required } from '../api/errors/field-error.ts'
import { memberOf, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, listOf, struct, text, texts } from '../api/schema/build.ts'
import { conform } from '../api/schema/conform.ts'
import { fieldAt } from '../api/schema/path.ts'
import type { Path } from '../api/schema/path.ts'
import { wholeObject } from '../api/schema/shared.ts'
import { validateSchema } from '../api/schema/validate.ts'
import { AUDIT_LEVELS, AUDIT_STAGES } from './audit-policy.ts'
import type { AuditedResources, AuditLevel, AuditPolicy, AuditRule, AuditStage } from './audit-policy.ts'

/** The policy file is invalid. One line with the place and the remedy. */
export class AuditPolicyMalformed extends CodedError<'audit-policy-malformed'> {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super('audit-policy-malformed', message, options)
  }
}

/** Group and version of policies and events. */
export function auditApiVersion(names: Names): string {
  return `${names.group('audit')}/v1`
}

/**
 * Parses a policy in YAML or JSON. Unknown content is rejected: a rule of which a part is ignored
 * would not record what its author intended.
 *
 * @throws AuditPolicyMalformed
 * @source apiserver `pkg/apis/audit/v1` and `pkg/apis/audit/validation`
 */
export function parseAuditPolicy(content: string, names: Names): AuditPolicy {
  const { value, doubled } = understood(() => parseYamlObject(content))
  const [twice] = doubled
  if (twice !== undefined) throw new AuditPolicyMalformed(`${twice}: set it once`)
  checkType(value, auditApiVersion(names))
  const { value: policy, unknown } = understood(() => conform(policySchema, value))
  const [unknownField] = unknown
  if (unknownField !== undefined) throw new AuditPolicyMalformed(unknownWords(unknownField))
  const [wrong] = causesOf((found) => {
    validateSchema(policySchema, policy, found)
  })
  if (wrong !== undefined) throw new AuditPolicyMalformed(`${wrong.field}: ${wrong.message}`)
  return policyOf(policy)
}

function policyOf(policy: JsonObject): AuditPolicy {
  const omitStages = stagesOf(policy)
  const omitManagedFields = memberOf(policy, 'omitManagedFields') === true
  return {
    rules: objectsMember(policy, 'rules').map((rule): AuditRule => {
      const own = memberOf(rule, 'omitManagedFields')
      return {
        level: levelOf(rule),
        users: new Set(textsMember(rule, 'users')),
        userGroups: new Set(textsMember(rule, 'userGroups')),
        verbs: new Set(textsMember(rule, 'verbs')),
        resources: objectsMember(rule, 'resources').map(resourcesOf),
        namespaces: new Set(textsMember(rule, 'namespaces')),
        nonResourceURLs: textsMember(rule, 'nonResourceURLs'),
        omitStages: new Set([...omitStages, ...stagesOf(rule)]),
        omitManagedFields: typeof own === 'boolean' ? own : omitManagedFields,
      }
    }),
  }
}

function resourcesOf(of: JsonObject): AuditedResources {
  return {
    group: textMember(of, 'group'),
    resources: textsMember(of, 'resources'),
    resourceNames: new Set(textsMember(of, 'resourceNames')),
  }
}

/** The schema has validated the level. */
function levelOf(rule: JsonObject): AuditLevel {
  const given = textMember(rule, 'level')
  return AUDIT_LEVELS.find((level) => level === given) ?? 'None'
}

function stagesOf(of: JsonObject): readonly AuditStage[] {
  const given = textsMember(of, 'omitStages')
  return AUDIT_STAGES.filter((stage) => given.includes(stage))
}

function understood<T>(read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    // A file has no body, and only one kind.
    const words = cause.message
      .replace(/^.*? cannot be handled as a Policy: (?:json: )?/, '')
      .replace("couldn't parse the body as YAML: ", '')
      .replace('the body must be', 'it must be')
    throw new AuditPolicyMalformed(words, { cause })
  }
}

function checkType(value: JsonObject, apiVersion: string): void {
  for (const [name, wanted] of [
    ['apiVersion', apiVersion],
    ['kind', 'Policy'],
  ] as const) {
    const given = memberOf(value, name)
    if (given === wanted) continue
    const found = typeof given === 'string' ? JSON.stringify(given.slice(0, 256)) : 'no valid value'
    throw new AuditPolicyMalformed(`${name}: it is ${found}, and must be ${wanted}`)
  }
}

function unknownWords(path: string): string {
  const at = path.slice(0, path.lastIndexOf('.') + 1)
  const struct = at.includes('.resources[') ? resourcesSchema : at === '' ? policySchema : ruleSchema
  return `unknown field ${JSON.stringify(path)}: known are ${Object.keys(struct.properties).join(', ')}`
}

const stageItem = { type: 'string', enum: AUDIT_STAGES } as const

const resourcesSchema = struct(
  'audit.v1.GroupResources',
  'Resources of a group.',
  {
    group: text(1, 'The group; empty is the core one.', { rule: checkDns1123Subdomain }),
    resources: texts(2, 'The resources; a star matches any, also before or after a slash.'),
    resourceNames: texts(3, 'Names of objects; empty matches all.'),
  },
  { check: checkResources },
)

const ruleSchema = struct(
  'audit.v1.PolicyRule',
  'How much of matching requests is recorded.',
  {
    level: text(1, 'Audit level.', { required: true, enum: AUDIT_LEVELS }),
    users: texts(2, 'Users; empty matches all.'),
    userGroups: texts(3, 'Groups of users; empty matches all.'),
    verbs: texts(4, 'Verbs; empty matches all.'),
    resources: listOf(5, resourcesSchema, 'Resources; empty matches all.'),
    namespaces: texts(6, 'Namespaces; the empty text matches requests outside of namespaces.'),
    nonResourceURLs: texts(7, 'Paths that are not resources; a star at the end matches any rest.'),
    omitStages: listOf(8, stageItem, 'Stages that are not recorded.'),
    omitManagedFields: flag(9, 'Omit managed fields from recorded bodies.', { optional: true }),
  },
  { check: checkRule },
)

const policySchema = wholeObject(
  struct(
    'audit.v1.Policy',
    'How much of requests is recorded.',
    {
      rules: listOf(2, ruleSchema, 'In order: the first matching rule decides.', { required: true }),
      omitStages: listOf(3, stageItem, 'Stages that no rule records.'),
      omitManagedFields: flag(4, 'Default of rules that do not set it.'),
    },
    {},
  ),
)

function checkResources(of: JsonObject, at: Path | null, found: Findings): void {
  if (textsMember(of, 'resourceNames').length === 0 || textsMember(of, 'resources').length > 0) return
  found.add(required(fieldAt(at, 'resources'), 'resourceNames needs resources'))
}

function checkRule(rule: JsonObject, at: Path | null, found: Findings): void {
  const paths = textsMember(rule, 'nonResourceURLs')
  const field = fieldAt(at, 'nonResourceURLs')
  if (paths.length > 0 && (isSet(rule, 'resources') || isSet(rule, 'namespaces'))) {
    const words = 'a rule has either resources and namespaces, or nonResourceURLs: split it in two'
    found.add(invalid(field, [...paths], words))
    return
  }
  for (const [index, path] of paths.entries()) {
    const star = path.indexOf('*')
    const inside = star !== -1 && star !== path.length - 1
    if (path === '*' || (path.startsWith('/') && !inside)) continue
    const words = 'must begin with a slash, and may have a star at its end; or be a star'
    found.add(invalid(`${field}[${index}]`, path, words))
  }
}

function isSet(rule: JsonObject, name: string): boolean {
  const value = memberOf(rule, name)
  return Array.isArray(value) && value.length > 0
}
