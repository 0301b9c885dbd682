import type { Findings } from '../api/errors/findings.ts'
import { invalid } from '../api/errors/field-error.ts'
import type { JsonObject } from '../api/json.ts'
import { equalJson, isJsonObject, memberOf, numberMember, objectMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkIntOrPercent, checkWithinAll } from './common/int-or-percent.ts'
import { isEmptySelector } from './common/selector.ts'
import { statusApart } from './common/status-apart.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { disruptionBudgetSchema } from './policies/disruption-budget-schema.ts'

/** A limit on how many Pods are disrupted at a time. */
export function podDisruptionBudgetDefinition(): ResourceDefinition {
  return Object.freeze({
    group: 'policy',
    version: 'v1',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    singular: 'poddisruptionbudget',
    shortNames: ['pdb'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: disruptionBudgetSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    tracksGeneration: true,
    columns: [
      nameColumn,
      textColumn('Min Available', 'How many Pods must stay available.', (object) =>
        limitText(object, 'minAvailable'),
      ),
      textColumn('Max Unavailable', 'How many Pods may be unavailable.', (object) =>
        limitText(object, 'maxUnavailable'),
      ),
      {
        ...{ name: 'Allowed Disruptions', type: 'integer', description: 'How many Pods may be evicted now.' },
        cell: (object) => numberMember(objectMember(object, 'status'), 'disruptionsAllowed') ?? 0,
      },
      ageColumn,
    ],
    hooks: {
      ...statusApart(disruptionBudgetSchema),
      validate: checkLimits,
    },
    subresources: [statusSubresource()],
  } satisfies ResourceDefinition)
}

const MARKER = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match'

/** The meaning of an empty selector of `v1beta1`: nothing. */
const MATCH_NONE: JsonObject = { matchExpressions: [{ key: MARKER, operator: 'Exists' }] }
/** The meaning of an empty selector of `v1`, in `v1beta1`: everything. */
const MATCH_ALL: JsonObject = { matchExpressions: [{ key: MARKER, operator: 'DoesNotExist' }] }

/** The version for older clients; stored as `v1`, where an empty selector means the opposite. */
export function podDisruptionBudgetV1beta1Definition(): ResourceDefinition {
  const stable = podDisruptionBudgetDefinition()
  const { group, version, kind } = stable
  return Object.freeze({
    ...stable,
    version: 'v1beta1',
    storedAs: {
      name: version,
      conversion: {
        toStored: (object) => withSelector(object, MATCH_NONE, MATCH_ALL),
        fromStored: (object) => withSelector(object, MATCH_ALL, MATCH_NONE),
      },
    },
    deprecated: { since: '1.21', removed: '1.25', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}

/** Replaces an empty selector, and the one that means an empty selector of the other version. */
function withSelector(object: AnyObject, instead: JsonObject, isEmptyThere: JsonObject): AnyObject {
  const spec = objectMember(object, 'spec')
  const selector = memberOf(spec, 'selector')
  if (!isJsonObject(selector)) return object
  if (isEmptySelector(selector)) return { ...object, spec: { ...spec, selector: instead } }
  return equalJson(selector, isEmptyThere) ? { ...object, spec: { ...spec, selector: {} } } : object
}

/** @source upstream `pkg/apis/policy/validation`, ValidatePodDisruptionBudgetSpec */
function checkLimits(object: AnyObject, found: Findings): void {
  const spec = objectMember(object, 'spec')
  const limits = ['minAvailable', 'maxUnavailable'].filter((name) => Object.hasOwn(spec, name))
  if (limits.length > 1)
    found.add(invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set'))
  for (const name of limits) {
    checkIntOrPercent(memberOf(spec, name), `spec.${name}`, found)
    checkWithinAll(memberOf(spec, name), `spec.${name}`, found)
  }
}

function limitText(object: AnyObject, name: string): string {
  const limit = memberOf(objectMember(object, 'spec'), name)
  return typeof limit === 'string' || typeof limit === 'number' ? String(limit) : 'N/A'
}
