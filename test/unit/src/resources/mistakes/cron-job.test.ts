/*
 * Goal: common mistakes in a CronJob have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import { refuseNew, refuseUpdates } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'
import { container, podMistakes } from './pod-mistakes.ts'
import { metadataMistakes } from './template-mistakes.ts'
import { LABEL_VALUE, NOT_NEGATIVE } from './words.ts'

const template = { spec: { containers: [container], restartPolicy: 'Never' } }
const body = {
  metadata: { name: 'web' },
  spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template } } },
}
const valid = { kind: 'CronJob', group: 'batch', body }
const job = 'spec.jobTemplate.spec'
const longName = 'a'.repeat(53)

const schedules = [
  ['* * *', 'expected exactly 5 fields, found 3: [* * *]'],
  ['every minute', 'expected exactly 5 fields, found 2: [every minute]'],
  ['0 0 12 * * *', 'expected exactly 5 fields, found 6: [0 0 12 * * *]'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* 24 * * *', 'end of range (24) above maximum (23): 24'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
  ['@never', 'unrecognized descriptor: @never'],
].map(([schedule = '', words = '']): Mistake => [
  `the schedule ${schedule}`,
  { spec: { schedule } },
  `FieldValueInvalid spec.schedule: Invalid value: "${schedule}": ${words}`,
])
const counts = ['startingDeadlineSeconds', 'successfulJobsHistoryLimit', 'failedJobsHistoryLimit'].map(
  (name): Mistake => [
    `a negative ${name}`,
    { spec: { [name]: -1 } },
    `FieldValueInvalid spec.${name}: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
)
const restartPolicyRequired =
  `FieldValueRequired ${job}.template.spec.restartPolicy: Required value: ` +
  'valid values: "OnFailure", "Never"'

refuseNew(valid, [
  ...metadataMistakes,
  [
    'a name of 53 characters',
    { metadata: { name: longName } },
    `FieldValueInvalid metadata.name: Invalid value: "${longName}": must be no more than 52 characters`,
  ],
  ['no schedule', { spec: { schedule: null } }, 'FieldValueRequired spec.schedule: Required value'],
  ...schedules,
  ...counts,
  [
    'an unknown concurrency policy',
    { spec: { concurrencyPolicy: 'Wait' } },
    'FieldValueNotSupported spec.concurrencyPolicy: Unsupported value: "Wait": ' +
      'supported values: "Allow", "Forbid", "Replace"',
  ],
  [
    'a selector',
    { spec: { jobTemplate: { spec: { selector: { matchLabels: { app: 'web' } } } } } },
    `FieldValueInvalid ${job}.selector: Invalid value: ` +
      'v1.LabelSelector{MatchLabels:map[string]string{"app":"web"}, ' +
      'MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: `selector` will be auto-generated',
  ],
  [
    'a manual selector',
    { spec: { jobTemplate: { spec: { manualSelector: true } } } },
    `FieldValueNotSupported ${job}.manualSelector: Unsupported value: true: supported values: "nil", "false"`,
  ],
  [
    'a negative number of retries',
    { spec: { jobTemplate: { spec: { backoffLimit: -1 } } } },
    `FieldValueInvalid ${job}.backoffLimit: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    'a label of the Jobs with a space',
    { spec: { jobTemplate: { metadata: { labels: { app: 'my web' } } } } },
    `FieldValueInvalid spec.jobTemplate.metadata.labels: Invalid value: "my web": ${LABEL_VALUE}`,
  ],
  [
    'no restart policy',
    { spec: { jobTemplate: { spec: { template: { spec: { restartPolicy: null } } } } } },
    restartPolicyRequired,
  ],
  ...podMistakes(`${job}.template.spec`, (spec) => ({
    spec: { jobTemplate: { spec: { template: { spec } } } },
  })),
])

refuseUpdates(valid, schedules.slice(0, 3))
