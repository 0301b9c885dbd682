import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectsMember, textMember, textsMember } from '../../api/json.ts'
import { checkDns1123Subdomain, checkQualifiedName } from '../../api/metadata/name-rules.ts'
import { listOf, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

/** Selectors of nodes by their labels and fields. */

const nodeSelectorRequirementSchema = struct(
  'core.v1.NodeSelectorRequirement',
  'A requirement on one label or field of a node.',
  {
    key: text(1, 'Key of the label or field.', { required: true }),
    operator: text(2, 'Operator: In, NotIn, Exists, DoesNotExist, Gt or Lt.', {
      required: true,
      known: ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'],
    }),
    values: texts(3, 'Values: at least one for In and NotIn, one integer for Gt and Lt, otherwise empty.'),
  },
)

export const nodeSelectorTermSchema = struct(
  'core.v1.NodeSelectorTerm',
  'Requirements that must all match; an empty term matches no node.',
  {
    matchExpressions: listOf(1, nodeSelectorRequirementSchema, 'Requirements on labels.'),
    matchFields: listOf(
      2,
      nodeSelectorRequirementSchema,
      'Requirements on fields; only metadata.name is supported.',
    ),
  },
  { mapType: 'atomic', check: checkNodeSelectorTerm },
)

export const nodeSelectorSchema = struct(
  'core.v1.NodeSelector',
  'A node selector; a node matches if at least one term does.',
  { nodeSelectorTerms: listOf(1, nodeSelectorTermSchema, 'Terms of the selector.', { required: true }) },
  { mapType: 'atomic' },
)

/** @source core `pkg/apis/core/validation`, ValidateNodeSelectorTerm */
function checkNodeSelectorTerm(term: JsonObject, at: Path | null, found: Findings): void {
  for (const [index, rule] of objectsMember(term, 'matchExpressions').entries()) {
    checkLabelRule(rule, (name) => fieldAt(at, 'matchExpressions', index, name), found)
  }
  for (const [index, rule] of objectsMember(term, 'matchFields').entries()) {
    checkFieldRule(rule, (...steps) => fieldAt(at, 'matchFields', index, ...steps), found)
  }
}

function checkLabelRule(rule: JsonObject, field: (name: string) => string, found: Findings): void {
  const key = textMember(rule, 'key')
  if (key !== '') for (const words of checkQualifiedName(key)) found.add(invalid(field('key'), key, words))
  const operator = textMember(rule, 'operator')
  const count = textsMember(rule, 'values').length
  switch (operator) {
    case '':
      break
    case 'In':
    case 'NotIn':
      if (count === 0)
        found.add(required(field('values'), "must be specified when `operator` is 'In' or 'NotIn'"))
      break
    case 'Exists':
    case 'DoesNotExist':
      if (count > 0) {
        const words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        found.add(fieldForbidden(field('values'), words))
      }
      break
    case 'Gt':
    case 'Lt':
      if (count !== 1) {
        const words = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        found.add(required(field('values'), words))
      }
      break
    default:
      found.add(invalid(field('operator'), operator, 'not a valid selector operator'))
  }
}

function checkFieldRule(
  rule: JsonObject,
  field: (...steps: readonly (string | number)[]) => string,
  found: Findings,
): void {
  const values = textsMember(rule, 'values')
  const operator = textMember(rule, 'operator')
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length !== 1) {
      const words = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
      found.add(required(field('values'), words))
    }
  } else {
    if (operator !== '') {
      found.add(invalid(field('operator'), operator, 'not a valid selector operator'))
    }
  }
  const key = textMember(rule, 'key')
  if (key === '') return
  if (key !== 'metadata.name') {
    found.add(invalid(field('key'), key, 'not a valid field selector key'))
    return
  }
  for (const [index, value] of values.entries()) {
    for (const words of checkDns1123Subdomain(value)) found.add(invalid(field('values', index), value, words))
  }
}
