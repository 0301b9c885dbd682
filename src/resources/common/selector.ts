import { validateLabelSelector } from '../../api/selectors/label-selector.ts'
import { spellPath } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { labelSelectorSchema } from '../../api/schema/shared.ts'

/** A label selector that is validated with the struct that contains it. */
export const selectorSchema: ObjectSchema = {
  ...labelSelectorSchema,
  check: (selector, at, found) => validateLabelSelector(selector, spellPath(at), found),
}
