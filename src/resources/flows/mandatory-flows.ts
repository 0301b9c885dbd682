import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { equalJson, objectMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { InitialObject } from '../common/initial-object.ts'

type Specs = { readonly [name: string]: JsonObject }

function schemaOf(
  level: string,
  precedence: number,
  groups: readonly string[],
  more: JsonObject = {},
): JsonObject {
  return {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    ...more,
    rules: [
      {
        subjects: groups.map((name) => ({ kind: 'Group', group: { name } })),
        resourceRules: [
          {
            ...{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
            ...{ clusterScope: true, namespaces: ['*'] },
          },
        ],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      },
    ],
  }
}

/**
 * The flow schemas that every cluster has, with fixed specs.
 *
 * @source apiserver `pkg/apis/flowcontrol/bootstrap/default.go`
 */
export const mandatoryFlowSchemas: Specs = {
  exempt: schemaOf('exempt', 1, ['system:masters']),
  'catch-all': schemaOf('catch-all', 10_000, ['system:unauthenticated', 'system:authenticated'], {
    distinguisherMethod: { type: 'ByUser' },
  }),
}

/** The priority levels that every cluster has, with fixed specs. */
export const mandatoryPriorityLevels: Specs = {
  exempt: { type: 'Exempt' },
  'catch-all': {
    type: 'Limited',
    limited: { assuredConcurrencyShares: 5, limitResponse: { type: 'Reject' } },
  },
}

/** The mandatory objects, as they are created. */
export function mandatoryFlows(names: Names): readonly InitialObject[] {
  const group = names.group('flowcontrol.apiserver')
  return [
    ...flowsOf(group, 'PriorityLevelConfiguration', mandatoryPriorityLevels),
    ...flowsOf(group, 'FlowSchema', mandatoryFlowSchemas),
  ]
}

function flowsOf(group: string, kind: string, specs: Specs): readonly InitialObject[] {
  const place = { group, version: 'v1beta2', plural: `${kind.toLowerCase()}s`, kind }
  return Object.entries(specs).map(([name, spec]) => ({ ...place, name, members: { spec } }))
}

/** Checks that an object with the name of a mandatory one has its spec. */
export function checkMandatory(object: AnyObject, mandatory: Specs, found: Findings): void {
  const { name = '' } = object.metadata
  const wanted = Object.hasOwn(mandatory, name) ? mandatory[name] : undefined
  const spec = objectMember(object, 'spec')
  if (wanted === undefined || equalJson(spec, wanted)) return
  found.add(invalid('spec', spec, `spec of '${name}' must equal the fixed value`))
}
