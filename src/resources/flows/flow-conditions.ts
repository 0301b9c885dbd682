import type { Findings } from '../../api/errors/findings.ts'
import { required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textMember } from '../../api/json.ts'
import { listOf, struct, text, time } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/** Returns the schema of the status of a kind of flow control. @param kind such as `FlowSchema` */
export function flowStatus(kind: string): ObjectSchema {
  const condition = struct(
    `flowcontrol.v1beta2.${kind}Condition`,
    'One aspect of the observed state.',
    {
      type: text(1, 'Type of the condition.'),
      status: text(2, 'Status of the condition: True, False or Unknown.'),
      lastTransitionTime: time(3, 'Time of the last change of the status.'),
      reason: text(4, 'Machine-readable reason, in CamelCase.'),
      message: text(5, 'Human-readable message.'),
    },
    { check: checkType },
  )
  return struct(`flowcontrol.v1beta2.${kind}Status`, 'Observed state.', {
    conditions: listOf(1, condition, 'Conditions.', { listType: 'map', listMapKeys: ['type'] }),
  })
}

function checkType(condition: JsonObject, at: Path | null, found: Findings): void {
  if (textMember(condition, 'type') === '') found.add(required(fieldAt(at, 'type'), 'must not be empty'))
}
