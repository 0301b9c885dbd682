import type { JsonObject, JsonObjectDraft } from '../api/json.ts'
import { objectMember, objectsMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { listOf, part, quantities, struct, text } from '../api/schema/build.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkLimits } from './quotas/limit-rules.ts'

/** Limits and defaults of the resources of each object of a namespace. */
export function limitRangeDefinition(): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'LimitRange',
    plural: 'limitranges',
    singular: 'limitrange',
    shortNames: ['limits'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: limitRangeSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    putCreates: true,
    hooks: { fillDefaults, validate: checkLimits },
    subresources: [],
  } satisfies ResourceDefinition)
}

const itemSchema = struct('core.v1.LimitRangeItem', 'Limits and defaults of one type of object.', {
  type: text(1, 'Type: Pod, Container, PersistentVolumeClaim, or a resource of another group.', {
    required: true,
  }),
  max: quantities(2, 'Maximum amounts, by resource.'),
  min: quantities(3, 'Minimum amounts, by resource.'),
  default: quantities(4, 'Default limits of containers, by resource.'),
  defaultRequest: quantities(5, 'Default requests of containers, by resource.'),
  maxLimitRequestRatio: quantities(6, 'Maximum of the limit divided by the request, by resource.'),
})

const specSchema = struct('core.v1.LimitRangeSpec', 'Limits and defaults.', {
  limits: listOf(1, itemSchema, 'The limits, one item for each type.', { required: true, always: true }),
})

const limitRangeSchema = struct('core.v1.LimitRange', 'Limits of the resources of objects.', {
  spec: part(2, specSchema, 'The limits.'),
})

/** @source core `pkg/apis/core/v1/defaults.go`, SetDefaults_LimitRangeItem */
function fillDefaults(object: AnyObject): AnyObject {
  const spec = objectMember(object, 'spec')
  const items = objectsMember(spec, 'limits')
  if (!items.some((item) => textMember(item, 'type') === 'Container')) return object
  return { ...object, spec: { ...spec, limits: items.map(withDefaults) } }
}

function withDefaults(item: JsonObject): JsonObject {
  if (textMember(item, 'type') !== 'Container') return item
  const limit = { ...objectMember(item, 'max'), ...objectMember(item, 'default') }
  const request = { ...objectMember(item, 'min'), ...limit, ...objectMember(item, 'defaultRequest') }
  const draft: JsonObjectDraft = { ...item }
  if (Object.keys(limit).length > 0) draft['default'] = limit
  if (Object.keys(request).length > 0) draft['defaultRequest'] = request
  return draft
}
