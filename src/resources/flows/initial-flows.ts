import type { Names } from '../../api/metadata/names.ts'
import type { InitialObject } from '../common/initial-object.ts'
import type { FlowSpecs } from './flow-spec.ts'
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from './mandatory-flows.ts'
import { suggestedFlowSchemas, suggestedPriorityLevels } from './suggested-flows.ts'

/**
 * Returns the mandatory and the suggested objects of flow control. Their annotation allows the
 * server to restore the spec. Without it, or with another value, the server leaves the spec as it
 * is.
 *
 * @source upstream `pkg/registry/flowcontrol/ensurer`
 */
export function initialFlows(names: Names): readonly InitialObject[] {
  const group = names.group('flowcontrol.apiserver')
  const autoUpdate = names.labelUnder('apf', 'autoupdate-spec')
  const of = (kind: string, specs: FlowSpecs): readonly InitialObject[] => {
    const place = { group, version: 'v1beta2', plural: `${kind.toLowerCase()}s`, kind }
    return Object.entries(specs).map(([name, spec]) => ({ ...place, name, autoUpdate, members: { spec } }))
  }
  return [
    ...of('PriorityLevelConfiguration', { ...mandatoryPriorityLevels, ...suggestedPriorityLevels }),
    ...of('FlowSchema', { ...mandatoryFlowSchemas, ...suggestedFlowSchemas(names) }),
  ]
}
