/*
 * Goal: common mistakes in a Deployment have upstream's status, reason, causes and words.
 * Method: one change of a valid Deployment for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew, refuseUpdates } from './mistakes.ts'
import { deadlineMistake, lastingMistakes, otherSelector, workload } from './template-mistakes.ts'
import { NO_MATCH, NOT_NEGATIVE, PERCENT } from './words.ts'

const valid = { kind: 'Deployment', group: 'apps', body: workload() }
const rolling = (rollingUpdate: JsonObject): JsonObject => ({ spec: { strategy: { rollingUpdate } } })
const at = 'spec.strategy.rollingUpdate'

refuseNew(valid, [
  ...lastingMistakes('deployment'),
  deadlineMistake('activeDeadlineSeconds in ReplicaSet is not Supported'),
  [
    'no selector',
    { spec: { selector: null } },
    'FieldValueRequired spec.selector: Required value',
    `FieldValueInvalid spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: ${NO_MATCH}`,
  ],
  [
    'a negative number of replicas',
    { spec: { replicas: -1 } },
    `FieldValueInvalid spec.replicas: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    'limits of a rolling update without one',
    { spec: { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } } },
    `FieldValueForbidden ${at}: Forbidden: may not be specified when strategy \`type\` is 'Recreate'`,
  ],
  [
    'neither surge nor unavailable Pods',
    rolling({ maxSurge: 0, maxUnavailable: 0 }),
    `FieldValueInvalid ${at}.maxUnavailable: Invalid value: ` +
      'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: may not be 0 when `maxSurge` is 0',
  ],
  [
    'a surge that is not a percentage',
    rolling({ maxSurge: '25' }),
    `FieldValueInvalid ${at}.maxSurge: Invalid value: ` +
      `intstr.IntOrString{Type:1, IntVal:0, StrVal:"25"}: ${PERCENT}`,
  ],
  [
    'more than all Pods unavailable',
    rolling({ maxUnavailable: '150%' }),
    `FieldValueInvalid ${at}.maxUnavailable: Invalid value: ` +
      'intstr.IntOrString{Type:1, IntVal:0, StrVal:"150%"}: must not be greater than 100%',
  ],
  [
    'a negative surge',
    rolling({ maxSurge: -1 }),
    `FieldValueInvalid ${at}.maxSurge: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    'a deadline that Pods cannot keep',
    { spec: { progressDeadlineSeconds: 10, minReadySeconds: 10 } },
    'FieldValueInvalid spec.progressDeadlineSeconds: Invalid value: 10: ' +
      'must be greater than minReadySeconds',
  ],
])

const expression = { key: 'app', operator: 'In', values: ['web'] }

refuseUpdates(valid, [
  [
    'another selector',
    otherSelector.change,
    `FieldValueInvalid spec.selector: Invalid value: ${otherSelector.text}: field is immutable`,
  ],
  [
    'an expression instead of the label',
    { spec: { selector: { matchLabels: null, matchExpressions: [expression] } } },
    'FieldValueInvalid spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), ' +
      'MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement' +
      '{Key:"app", Operator:"In", Values:[]string{"web"}}}}: field is immutable',
  ],
  [
    'other labels of the template alone',
    { spec: { template: { metadata: { labels: { app: 'api' } } } } },
    'FieldValueInvalid spec.template.metadata.labels: Invalid value: ' +
      `map[string]string{"app":"api"}: ${NO_MATCH}`,
  ],
  [
    'a negative number of replicas',
    { spec: { replicas: -2 } },
    `FieldValueInvalid spec.replicas: Invalid value: -2: ${NOT_NEGATIVE}`,
  ],
])
