import type { JsonObject } from '../../../../../src/api/json.ts'
import type { Mistake } from './mistakes.ts'
import { container, podMistakes } from './pod-mistakes.ts'
import { LABEL_VALUE, NO_MATCH, NO_NAME, QUALIFIED_NAME, SUBDOMAIN } from './words.ts'

export const labels = { app: 'web' }
export const template = { metadata: { labels }, spec: { containers: [container] } }

/** Returns a valid workload with a selector. @param more further members of the spec */
export function workload(more: JsonObject = {}): JsonObject {
  return { metadata: { name: 'web' }, spec: { selector: { matchLabels: labels }, template, ...more } }
}

/** Mistakes in the name, the labels and the annotations of an object. */
export const metadataMistakes: readonly Mistake[] = [
  ['no name', { metadata: { name: null } }, NO_NAME],
  [
    'a name with a capital and an underscore',
    { metadata: { name: 'My_web' } },
    `FieldValueInvalid metadata.name: Invalid value: "My_web": ${SUBDOMAIN}`,
  ],
  [
    'a label of the object with a space',
    { metadata: { labels: { app: 'my web' } } },
    `FieldValueInvalid metadata.labels: Invalid value: "my web": ${LABEL_VALUE}`,
  ],
  [
    'an annotation key with a space',
    { metadata: { annotations: { 'a note': 'x' } } },
    `FieldValueInvalid metadata.annotations: Invalid value: "a note": ${QUALIFIED_NAME}`,
  ],
]

const at = 'spec.template'

/** Returns mistakes in metadata and selector, and in the labels, restarts and delay of the Pods. */
export function ownerMistakes(kind: string): readonly Mistake[] {
  const policy = (restartPolicy: string): JsonObject => ({ spec: { template: { spec: { restartPolicy } } } })
  const needsAlways = (given: string): string =>
    `FieldValueNotSupported ${at}.spec.restartPolicy: Unsupported value: "${given}": supported values: "Always"`
  return [
    ...metadataMistakes,
    [
      'other labels than the selector',
      { spec: { template: { metadata: { labels: { app: 'api' } } } } },
      `FieldValueInvalid ${at}.metadata.labels: Invalid value: map[string]string{"app":"api"}: ${NO_MATCH}`,
    ],
    [
      'a template without labels',
      { spec: { template: { metadata: { labels: null } } } },
      `FieldValueInvalid ${at}.metadata.labels: Invalid value: map[string]string(nil): ${NO_MATCH}`,
    ],
    [
      'an empty selector',
      { spec: { selector: { matchLabels: null } } },
      'FieldValueInvalid spec.selector: Invalid value: ' +
        'v1.LabelSelector{MatchLabels:map[string]string(nil), ' +
        `MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for ${kind}`,
    ],
    ['a Pod that is not restarted', policy('Never'), needsAlways('Never')],
    ['a Pod that is restarted on failure only', policy('OnFailure'), needsAlways('OnFailure')],
    [
      'a negative delay before a Pod counts as available',
      { spec: { minReadySeconds: -1 } },
      'FieldValueInvalid spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
    ],
  ]
}

/** Returns the mistake of a deadline for Pods that run until they are deleted. */
export function deadlineMistake(words: string): Mistake {
  return [
    'a deadline of the Pods',
    { spec: { template: { spec: { activeDeadlineSeconds: 5 } } } },
    `FieldValueForbidden ${at}.spec.activeDeadlineSeconds: Forbidden: ${words}`,
  ]
}

/** Returns the mistakes of a kind whose template of Pods is checked in full. */
export function lastingMistakes(kind: string): readonly Mistake[] {
  return [
    ...ownerMistakes(kind),
    [
      'a negative number of kept revisions',
      { spec: { revisionHistoryLimit: -1 } },
      'FieldValueInvalid spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
    ...podMistakes(`${at}.spec`, (spec) => ({ spec: { template: { spec } } })),
  ]
}

/** The change of a selector together with its labels, and how upstream prints the selector. */
export const otherSelector = {
  change: {
    spec: { selector: { matchLabels: { app: 'api' } }, template: { metadata: { labels: { app: 'api' } } } },
  },
  text:
    'v1.LabelSelector{MatchLabels:map[string]string{"app":"api"}, ' +
    'MatchExpressions:[]v1.LabelSelectorRequirement(nil)}',
}
