import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { equalJson, objectMember } from '../../api/json.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { everything, flowSpec, groups } from './flow-spec.ts'
import type { FlowSpecs } from './flow-spec.ts'

/**
 * The flow schemas that every cluster has, with fixed specs.
 *
 * @source apiserver `pkg/apis/flowcontrol/bootstrap/default.go`
 */
export const mandatoryFlowSchemas: FlowSpecs = {
  exempt: flowSpec({
    ...{ level: 'exempt', precedence: 1, subjects: groups('system:masters'), requests: everything },
  }),
  'catch-all': flowSpec({
    ...{ level: 'catch-all', precedence: 10_000, by: 'ByUser', requests: everything },
    subjects: groups('system:unauthenticated', 'system:authenticated'),
  }),
}

/** The priority levels that every cluster has, with fixed specs. */
export const mandatoryPriorityLevels: FlowSpecs = {
  exempt: { type: 'Exempt' },
  'catch-all': {
    type: 'Limited',
    limited: { assuredConcurrencyShares: 5, limitResponse: { type: 'Reject' } },
  },
}

/** Checks that an object with the name of a mandatory one has its spec. */
export function checkMandatory(object: AnyObject, mandatory: FlowSpecs, found: Findings): void {
  const { name = '' } = object.metadata
  const wanted = Object.hasOwn(mandatory, name) ? mandatory[name] : undefined
  const spec = objectMember(object, 'spec')
  if (wanted === undefined || equalJson(spec, wanted)) return
  found.add(invalid('spec', spec, `spec of '${name}' must equal the fixed value`))
}
