import type { Findings } from '../api/errors/findings.ts'
import { invalid } from '../api/errors/field-error.ts'
import type { JsonObject } from '../api/json.ts'
import { numberMember, objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { textColumn } from './common/text-column.ts'
import { flowDefinition, flowV1beta1Definition } from './flows/flow-kind.ts'
import { checkMandatory, mandatoryPriorityLevels } from './flows/mandatory-flows.ts'
import { priorityLevelSchema } from './flows/priority-level-schema.ts'
import { specOf } from './workloads/pod-owner.ts'

/** A priority level: how many of its requests run at once. */
export function priorityLevelDefinition(names: Names): ResourceDefinition {
  return flowDefinition(names, {
    ...{ kind: 'PriorityLevelConfiguration', schema: priorityLevelSchema, columns },
    validate: (object, found) => {
      checkExempt(object, found)
      checkMandatory(object, mandatoryPriorityLevels, found)
    },
  })
}

export function priorityLevelV1beta1Definition(names: Names): ResourceDefinition {
  return flowV1beta1Definition(priorityLevelDefinition(names))
}

function checkExempt(object: AnyObject, found: Findings): void {
  const type = textMember(specOf(object), 'type')
  if ((object.metadata.name === 'exempt') === (type === 'Exempt')) return
  found.add(invalid('spec.type', type, "type must be 'Exempt' if and only if name is 'exempt'"))
}

function limitedOf(object: AnyObject): JsonObject {
  return objectMember(specOf(object), 'limited')
}

function queuingOf(object: AnyObject): JsonObject {
  return objectMember(objectMember(limitedOf(object), 'limitResponse'), 'queuing')
}

function amountColumn(
  name: string,
  description: string,
  of: (object: AnyObject) => JsonObject,
  member: string,
): Column {
  return {
    ...{ name, type: 'string', description },
    cell: (object) => numberMember(of(object), member) ?? '<none>',
  }
}

/** @source upstream `pkg/printers/internalversion`, printPriorityLevelConfiguration */
const columns: readonly Column[] = [
  nameColumn,
  textColumn('Type', 'Limited or Exempt.', (object) => textMember(specOf(object), 'type')),
  amountColumn('AssuredConcurrencyShares', 'Share of concurrency.', limitedOf, 'assuredConcurrencyShares'),
  amountColumn('Queues', 'Number of queues.', queuingOf, 'queues'),
  amountColumn('HandSize', 'Number of queues of a flow.', queuingOf, 'handSize'),
  amountColumn('QueueLengthLimit', 'Length of a queue.', queuingOf, 'queueLengthLimit'),
  ageColumn,
]
