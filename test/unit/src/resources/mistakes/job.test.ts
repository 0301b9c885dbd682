/*
 * Goal: common mistakes in a Job have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew, refuseUpdates } from './mistakes.ts'
import { container, podMistakes } from './pod-mistakes.ts'
import { metadataMistakes } from './template-mistakes.ts'
import { LABEL_VALUE, NOT_NEGATIVE } from './words.ts'

const template = { spec: { containers: [container], restartPolicy: 'Never' } }
const valid = { kind: 'Job', group: 'batch', body: { metadata: { name: 'web' }, spec: { template } } }
const policy = (restartPolicy: string | null): JsonObject => ({
  spec: { template: { spec: { restartPolicy } } },
})
const field = 'spec.template.spec.restartPolicy'
const choice = `FieldValueRequired ${field}: Required value: valid values: "OnFailure", "Never"`

refuseNew(valid, [
  ...metadataMistakes,
  ['no restart policy', policy(null), choice],
  ['the restart policy of a Deployment', policy('Always'), choice],
  ...['parallelism', 'completions', 'activeDeadlineSeconds', 'backoffLimit', 'ttlSecondsAfterFinished'].map(
    (name) =>
      [
        `a negative ${name}`,
        { spec: { [name]: -1 } },
        `FieldValueInvalid spec.${name}: Invalid value: -1: ${NOT_NEGATIVE}`,
      ] as const,
  ),
  [
    'indexes without a number of completions',
    { spec: { completionMode: 'Indexed', parallelism: 2 } },
    'FieldValueRequired spec.completions: Required value: when completion mode is Indexed',
  ],
  [
    'too many concurrent Pods with indexed completion',
    { spec: { completionMode: 'Indexed', completions: 100_001, parallelism: 100_001 } },
    'FieldValueInvalid spec.parallelism: Invalid value: 100001: ' +
      'must be less than or equal to 100000 when completion mode is Indexed',
  ],
  [
    'a label of the Pods with a space',
    { spec: { template: { metadata: { labels: { app: 'my web' } } } } },
    `FieldValueInvalid metadata.labels: Invalid value: "my web": ${LABEL_VALUE}`,
    `FieldValueInvalid spec.template.metadata.labels: Invalid value: "my web": ${LABEL_VALUE}`,
  ],
  ...podMistakes('spec.template.spec', (spec) => ({ spec: { template: { spec } } })),
])

const fixedTemplate = 'FieldValueInvalid spec.template: Invalid value: …: field is immutable'

refuseUpdates(valid, [
  [
    'another number of completions',
    { spec: { completions: 2 } },
    'FieldValueInvalid spec.completions: Invalid value: 2: field is immutable',
  ],
  [
    'a change to indexed completion',
    { spec: { completionMode: 'Indexed' } },
    'FieldValueInvalid spec.completionMode: Invalid value: "Indexed": field is immutable',
  ],
  [
    'another image',
    { spec: { template: { spec: { containers: [{ ...container, image: 'nginx:1.26' }] } } } },
    fixedTemplate,
  ],
  ['another restart policy', policy('OnFailure'), fixedTemplate],
  ['another label of the Pods', { spec: { template: { metadata: { labels: { a: 'b' } } } } }, fixedTemplate],
])
