/*
 * Goal: common mistakes in a PodDisruptionBudget have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import { refuseNew, refuseUpdates } from './mistakes.ts'
import type { Mistake } from './mistakes.ts'
import { selectorMistakes } from './selector-mistakes.ts'
import { metadataMistakes } from './template-mistakes.ts'
import { NOT_NEGATIVE, PERCENT } from './words.ts'

const selector = { matchLabels: { app: 'web' } }
const body = { metadata: { name: 'web' }, spec: { selector } }
const valid = { kind: 'PodDisruptionBudget', group: 'policy', body }

function amountMistakes(name: string): readonly Mistake[] {
  const texts = [
    ['50', PERCENT],
    ['half', PERCENT],
    ['-10%', PERCENT],
    ['1.5%', PERCENT],
    ['150%', 'must not be greater than 100%'],
  ]
  const field = `FieldValueInvalid spec.${name}: Invalid value: `
  return [
    ...texts.map(([text = '', words = '']): Mistake => [
      `${text} as ${name}`,
      { spec: { [name]: text } },
      `${field}intstr.IntOrString{Type:1, IntVal:0, StrVal:"${text}"}: ${words}`,
    ]),
    [`a negative ${name}`, { spec: { [name]: -1 } }, `${field}-1: ${NOT_NEGATIVE}`],
  ]
}

refuseNew(valid, [
  ...metadataMistakes,
  [
    'minAvailable and maxUnavailable',
    { spec: { minAvailable: 1, maxUnavailable: 1 } },
    'FieldValueInvalid spec: Invalid value: …: minAvailable and maxUnavailable cannot be both set',
  ],
  ...amountMistakes('minAvailable'),
  ...amountMistakes('maxUnavailable'),
  ...selectorMistakes('spec.selector', (changed) => ({
    spec: { selector: { matchLabels: null, ...changed } },
  })),
])

const unavailable = { ...body, spec: { selector, maxUnavailable: 1 } }

refuseUpdates({ ...valid, body: unavailable }, [
  [
    'minAvailable in addition to maxUnavailable',
    { spec: { minAvailable: 1 } },
    'FieldValueInvalid spec: Invalid value: …: minAvailable and maxUnavailable cannot be both set',
  ],
])
