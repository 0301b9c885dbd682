/*
 * Goal: common mistakes in a DaemonSet have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew, refuseUpdates } from './mistakes.ts'
import { lastingMistakes, otherSelector, workload } from './template-mistakes.ts'
import { NOT_NEGATIVE, PERCENT } from './words.ts'

const valid = { kind: 'DaemonSet', group: 'apps', body: workload() }
const rolling = (rollingUpdate: JsonObject): JsonObject => ({ spec: { updateStrategy: { rollingUpdate } } })
const at = 'spec.updateStrategy.rollingUpdate'

refuseNew(valid, [
  ...lastingMistakes('daemonset'),
  [
    'neither surge nor unavailable Pods',
    rolling({ maxUnavailable: 0 }),
    `FieldValueRequired ${at}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`,
  ],
  [
    'both surge and unavailable Pods',
    rolling({ maxSurge: 1 }),
    `FieldValueInvalid ${at}.maxSurge: Invalid value: intstr.IntOrString{Type:0, IntVal:1, StrVal:""}: ` +
      'may not be set when maxUnavailable is non-zero',
  ],
  [
    'unavailable Pods as a text without a percent sign',
    rolling({ maxUnavailable: '1x' }),
    `FieldValueInvalid ${at}.maxUnavailable: Invalid value: ` +
      `intstr.IntOrString{Type:1, IntVal:0, StrVal:"1x"}: ${PERCENT}`,
  ],
  [
    'more than all Pods unavailable',
    rolling({ maxUnavailable: '101%' }),
    `FieldValueInvalid ${at}.maxUnavailable: Invalid value: ` +
      'intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
  ],
  [
    'a negative number of unavailable Pods',
    rolling({ maxUnavailable: -1 }),
    `FieldValueInvalid ${at}.maxUnavailable: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
])

refuseUpdates(valid, [
  [
    'another selector',
    otherSelector.change,
    `FieldValueInvalid spec.selector: Invalid value: ${otherSelector.text}: field is immutable`,
  ],
])
