import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { numberMember, textMember } from '../../api/json.ts'
import { int32, maybe, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { selectorSchema } from '../common/selector.ts'

export const topologySpreadConstraintSchema = struct(
  'core.v1.TopologySpreadConstraint',
  'How evenly matching Pods are spread over topology domains.',
  {
    maxSkew: int32(1, 'Maximum difference of matching Pods between domains, at least 1.', {
      required: true,
      always: true,
    }),
    topologyKey: text(2, 'Node label that defines the topology domain.', { required: true }),
    whenUnsatisfiable: text(
      3,
      'If unsatisfiable: DoNotSchedule, or ScheduleAnyway with the least skew preferred.',
      {
        required: true,
        enum: ['DoNotSchedule', 'ScheduleAnyway'],
      },
    ),
    labelSelector: maybe(4, selectorSchema, 'Label selector of the Pods that are counted.'),
    minDomains: int32(
      5,
      'Minimum number of domains; with fewer, the global minimum is 0. Only with DoNotSchedule.',
      {
        optional: true,
      },
    ),
  },
  { check: checkNumbers },
)

/** Pairs of topology key and whenUnsatisfiable must be distinct. @param field path of the list */
export function checkConstraintPairs(
  constraints: readonly JsonObject[],
  field: string,
  found: Findings,
): void {
  const seen = new Set<string>()
  constraints.forEach((constraint, index) => {
    const pair = `{${textMember(constraint, 'topologyKey')}, ${textMember(constraint, 'whenUnsatisfiable')}}`
    if (seen.has(pair)) found.add(duplicate(`${field}[${index}].{topologyKey, whenUnsatisfiable}`, pair))
    seen.add(pair)
  })
}

/** @source core `pkg/apis/core/validation`, validateTopologySpreadConstraints */
function checkNumbers(constraint: JsonObject, at: Path | null, found: Findings): void {
  const isPositive = (name: string, value: number | null): void => {
    if (value !== null && value <= 0) {
      found.add(invalid(fieldAt(at, name), value, 'must be greater than zero'))
    }
  }
  isPositive('maxSkew', numberMember(constraint, 'maxSkew'))
  const minDomains = numberMember(constraint, 'minDomains')
  isPositive('minDomains', minDomains)
  if (minDomains !== null && textMember(constraint, 'whenUnsatisfiable') !== 'DoNotSchedule') {
    const words = 'can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway'
    found.add(invalid(fieldAt(at, 'minDomains'), minDomains, words))
  }
}
