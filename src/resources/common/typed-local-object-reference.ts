import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { textMember } from '../../api/json.ts'
import { checkDns1123Subdomain, checkPathSegment } from '../../api/metadata/name-rules.ts'
import type { JsonObject } from '../../api/json.ts'
import { struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'

const members = {
  apiGroup: text(1, 'API group of the kind; the core group when unset.', { optional: true, always: true }),
  kind: text(2, 'Kind of the object.', { required: true }),
  name: text(3, 'Name of the object.', { required: true }),
} as const
const definition = 'core.v1.TypedLocalObjectReference'
const words = 'Reference to an object of any kind in the same namespace.'

/** A reference by kind and name to the source of a volume, in the namespace of the claim. */
export const typedLocalObjectReferenceSchema = struct(definition, words, members, {
  mapType: 'atomic',
  check: checkGroup,
})

/** A reference by kind and name to what serves requests, in the namespace of the Ingress. */
export const backendReferenceSchema = struct(definition, words, members, {
  mapType: 'atomic',
  check: checkSegments,
})

/** @source upstream `pkg/apis/networking/validation`, validateIngressTypedLocalObjectReference */
function checkSegments(reference: JsonObject, at: Path | null, found: Findings): void {
  const group = textMember(reference, 'apiGroup')
  for (const wrong of group === '' ? [] : checkDns1123Subdomain(group))
    found.add(invalid(fieldAt(at, 'apiGroup'), group, wrong))
  for (const name of ['kind', 'name']) {
    const value = textMember(reference, name)
    for (const wrong of checkPathSegment(value)) found.add(invalid(fieldAt(at, name), value, wrong))
  }
}

/** In the core group, only a claim can be a data source. */
function checkGroup(reference: JsonObject, at: Path | null, found: Findings): void {
  const kind = textMember(reference, 'kind')
  if (textMember(reference, 'apiGroup') !== '' || kind === 'PersistentVolumeClaim' || kind === '') return
  found.add(invalid(spellPath(at), kind, 'must be PersistentVolumeClaim where there is no apiGroup'))
}
