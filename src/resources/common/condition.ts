import { int64, struct, text, time } from '../../api/schema/build.ts'
import { checkCondition } from './condition-rules.ts'

/** The condition that newer kinds share. */
export const conditionSchema = struct(
  'meta.v1.Condition',
  'One aspect of the observed state.',
  {
    type: text(1, 'Type of the condition, such as Ready.', { required: true }),
    status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
    observedGeneration: int64(3, 'Generation of the object that the condition is about.', { minimum: 0 }),
    lastTransitionTime: time(4, 'Time of the last change of the status.', { required: true, always: true }),
    reason: text(5, 'Machine-readable reason, in CamelCase.', { required: true, lengthMax: 1024 }),
    message: text(6, 'Human-readable message.', { required: true, always: true, lengthMax: 32768 }),
  },
  { check: checkCondition },
)
