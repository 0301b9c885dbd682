import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { goIntOrString } from '../../api/errors/go-values.ts'
import type { Json } from '../../api/json.ts'

const PERCENT = /^[0-9]+%$/
const PERCENT_WORDS =
  "a valid percent string must be a numeric string followed by an ending '%' " +
  "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

/**
 * Checks a number or a percentage that is not negative.
 *
 * @source upstream `pkg/apis/apps/validation`, ValidatePositiveIntOrPercent
 */
export function checkIntOrPercent(value: Json | undefined, field: string, found: Findings): void {
  if (typeof value === 'string' && !PERCENT.test(value))
    found.add(invalid(field, value, PERCENT_WORDS, goIntOrString))
  if (typeof value === 'number' && value < 0)
    found.add(invalid(field, value, 'must be greater than or equal to 0'))
}

/** Checks that a percentage is at most 100%. */
export function checkWithinAll(value: Json | undefined, field: string, found: Findings): void {
  if (typeof value !== 'string' || !PERCENT.test(value) || Number.parseInt(value, 10) <= 100) return
  found.add(invalid(field, value, 'must not be greater than 100%', goIntOrString))
}

/** Returns whether a valid number or percentage is 0; absent counts as 0. */
export function isNone(value: Json | undefined): boolean {
  if (typeof value === 'string') return Number.parseInt(value, 10) === 0
  return (value ?? 0) === 0
}
