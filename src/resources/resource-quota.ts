import { objectMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { listOf, maybe, part, quantities, struct, text, texts } from '../api/schema/build.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { QUOTA_SCOPES } from '../registry/quota/scopes.ts'
import { keeping, statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { checkQuota, checkQuotaStatus, checkQuotaUpdate } from './quotas/quota-rules.ts'

/** Limits on the number and on the resources of all objects of a namespace together. */
export function resourceQuotaDefinition(): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'ResourceQuota',
    plural: 'resourcequotas',
    singular: 'resourcequota',
    shortNames: ['quota'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: resourceQuotaSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    columns: [
      nameColumn,
      ageColumn,
      textColumn('Request', 'Usage and quota of counts and requests.', (object) => usageOf(object, false)),
      textColumn('Limit', 'Usage and quota of the limits of containers.', (object) => usageOf(object, true)),
    ],
    hooks: {
      prepareForCreate: (object) => ({ ...object, status: {} }),
      prepareForUpdate: (object, current) => keeping(object, current, 'status'),
      validate: checkQuota,
      validateUpdate: checkQuotaUpdate,
    },
    subresources: [statusSubresource(checkQuotaStatus)],
  } satisfies ResourceDefinition)
}

const requirementSchema = struct(
  'core.v1.ScopedResourceSelectorRequirement',
  'A requirement on one scope of the objects that the quota counts.',
  {
    scopeName: text(1, 'Name of the scope.', { required: true, enum: QUOTA_SCOPES }),
    operator: text(2, 'Operator: In, NotIn, Exists or DoesNotExist.', {
      required: true,
      enum: ['DoesNotExist', 'Exists', 'In', 'NotIn'],
    }),
    values: texts(3, 'Values for In and NotIn; must be empty for the others.'),
  },
)

const selectorSchema = struct(
  'core.v1.ScopeSelector',
  'Requirements on the scopes of the objects that the quota counts; all must hold.',
  { matchExpressions: listOf(1, requirementSchema, 'The requirements.') },
  { mapType: 'atomic' },
)

const specSchema = struct('core.v1.ResourceQuotaSpec', 'Limits of a namespace.', {
  hard: quantities(1, 'Limits, by resource: amounts such as requests.cpu, and counts such as count/secrets.'),
  scopes: listOf(
    2,
    { type: 'string', enum: QUOTA_SCOPES },
    'Scopes: the quota counts only objects that match all of them. Immutable.',
  ),
  scopeSelector: maybe(3, selectorSchema, 'Scopes with operators; objects must match these too.'),
})

const statusSchema = struct('core.v1.ResourceQuotaStatus', 'Limits in force, and usage.', {
  hard: quantities(1, 'Limits in force, by resource.'),
  used: quantities(2, 'Current usage in the namespace, by resource.'),
})

const resourceQuotaSchema = struct('core.v1.ResourceQuota', 'Limits of all objects of a namespace.', {
  spec: part(2, specSchema, 'The limits.'),
  status: part(3, statusSchema, 'Limits in force, and usage.'),
})

function usageOf(object: AnyObject, ofLimits: boolean): string {
  const status = objectMember(object, 'status')
  const [hard, used] = [objectMember(status, 'hard'), objectMember(status, 'used')]
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits') === ofLimits)
    .sort()
    .map((name) => `${name}: ${textMember(used, name) || '0'}/${textMember(hard, name)}`)
    .join(', ')
}
