import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { spellPath } from '../../api/schema/path.ts'

/** A reference by kind and name, in the namespace of the referring object. */
export const typedLocalObjectReferenceSchema = struct(
  'core.v1.TypedLocalObjectReference',
  'Reference to an object of any kind in the same namespace.',
  {
    apiGroup: text(1, 'API group of the kind; the core group when unset.', { optional: true, always: true }),
    kind: text(2, 'Kind of the object.', { required: true }),
    name: text(3, 'Name of the object.', { required: true }),
  },
  { mapType: 'atomic', check: checkGroup },
)

/** In the core group, only a claim can be a data source. */
function checkGroup(reference: JsonObject, at: Path | null, found: Findings): void {
  const kind = textMember(reference, 'kind')
  if (textMember(reference, 'apiGroup') !== '' || kind === 'PersistentVolumeClaim' || kind === '') return
  found.add(invalid(spellPath(at), kind, 'must be PersistentVolumeClaim where there is no apiGroup'))
}
