import { numberMember, objectMember, objectsMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { textColumn } from './common/text-column.ts'
import { flowDefinition, flowV1beta1Definition } from './flows/flow-kind.ts'
import { checkPrecedence } from './flows/flow-schema-rules.ts'
import { flowSchemaSchema } from './flows/flow-schema-schema.ts'
import { checkMandatory, mandatoryFlowSchemas } from './flows/mandatory-flows.ts'
import { specOf } from './workloads/pod-owner.ts'

/** Assigns requests to a priority level. */
export function flowSchemaDefinition(names: Names): ResourceDefinition {
  return flowDefinition(names, {
    ...{ kind: 'FlowSchema', schema: flowSchemaSchema, columns },
    validate: (object, found) => {
      checkPrecedence(specOf(object), object.metadata.name ?? '', found)
      checkMandatory(object, mandatoryFlowSchemas, found)
    },
  })
}

export function flowSchemaV1beta1Definition(names: Names): ResourceDefinition {
  return flowV1beta1Definition(flowSchemaDefinition(names))
}

/** @source upstream `pkg/printers/internalversion`, printFlowSchema */
const columns: readonly Column[] = [
  nameColumn,
  textColumn('PriorityLevel', 'The priority level of its requests.', (object) =>
    textMember(objectMember(specOf(object), 'priorityLevelConfiguration'), 'name'),
  ),
  {
    ...{
      name: 'MatchingPrecedence',
      type: 'string',
      description: 'Precedence; the lowest that matches applies.',
    },
    cell: (object) => numberMember(specOf(object), 'matchingPrecedence') ?? 0,
  },
  textColumn(
    'DistinguisherMethod',
    'How its flows are distinguished.',
    (object) => textMember(objectMember(specOf(object), 'distinguisherMethod'), 'type') || '<none>',
  ),
  ageColumn,
  textColumn('MissingPL', 'Whether the priority level is missing.', missingText),
]

function missingText(object: AnyObject): string {
  const conditions = objectsMember(objectMember(object, 'status'), 'conditions')
  const dangling = conditions.find((condition) => textMember(condition, 'type') === 'Dangling')
  return dangling === undefined ? '?' : textMember(dangling, 'status')
}
