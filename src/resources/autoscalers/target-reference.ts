import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkPathSegment } from '../../api/metadata/name-rules.ts'
import { struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

const words = 'Reference to an object of any kind and version in the same namespace.'
const members = {
  kind: text(1, 'Kind of the object.', { required: true }),
  name: text(2, 'Name of the object.', { required: true }),
  apiVersion: text(3, 'API version of the object.'),
} as const

export const targetReferenceSchema = struct('autoscaling.v2.CrossVersionObjectReference', words, members, {
  check: checkSegments,
})

/** The same reference in the first version, where apply replaces it as a whole. */
export const targetReferenceV1Schema = struct('autoscaling.v1.CrossVersionObjectReference', words, members, {
  ...{ mapType: 'atomic', check: checkSegments },
})

const unchecked = { required: true, always: true } as const

/** The same reference in `v2beta1`, whose rules are checked on the converted object. */
export const targetReferenceV2beta1Schema = struct('autoscaling.v2beta1.CrossVersionObjectReference', words, {
  ...members,
  kind: text(1, 'Kind of the object.', unchecked),
  name: text(2, 'Name of the object.', unchecked),
})

/** @source upstream `pkg/apis/autoscaling/validation`, ValidateCrossVersionObjectReference */
function checkSegments(reference: JsonObject, at: Path | null, found: Findings): void {
  for (const name of ['kind', 'name']) {
    const value = textMember(reference, name)
    for (const wrong of value === '' ? [] : checkPathSegment(value))
      found.add(invalid(fieldAt(at, name), value, wrong))
  }
}
