import type { Findings } from '../../api/errors/findings.ts'
import { invalid, keyPath, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { equalJson, memberOf, objectMember, textMember } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { maybe, part, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import { checkPositive } from '../common/amounts.ts'
import { resourceRequirementsSchema } from '../containers/resource-requirements.ts'
import { selectorSchema } from '../common/selector.ts'
import { typedLocalObjectReferenceSchema } from '../common/typed-local-object-reference.ts'
import { accessModes, checkAccessModes, volumeMode } from './volume-modes.ts'

/** The spec of a claim, and of the template in an ephemeral volume. @source spec 2.5, 2.6 */
export const persistentVolumeClaimSpecSchema = struct(
  'core.v1.PersistentVolumeClaimSpec',
  'Requested properties of a volume.',
  {
    accessModes: accessModes(1, 'Access modes that the volume must allow:'),
    selector: maybe(4, selectorSchema, 'Label selector of suitable volumes.'),
    resources: part(2, resourceRequirementsSchema, 'Minimum size of the volume.'),
    volumeName: text(3, 'Name of the bound volume.'),
    storageClassName: text(5, 'Requested StorageClass; empty means volumes without a class.', {
      optional: true,
      rule: checkDns1123Subdomain,
    }),
    volumeMode: volumeMode(6),
    dataSource: maybe(
      7,
      typedLocalObjectReferenceSchema,
      'Claim or snapshot that the volume is populated from.',
    ),
    dataSourceRef: maybe(
      8,
      typedLocalObjectReferenceSchema,
      'Claim, or object outside of the core group, that the volume is populated from.',
    ),
  },
  { check: checkClaimSpec },
)

/** @source core `pkg/apis/core/validation`, ValidatePersistentVolumeClaimSpec */
function checkClaimSpec(spec: JsonObject, at: Path | null, found: Findings): void {
  checkAccessModes(spec, at, found)
  const size = keyPath(fieldAt(at, 'resources'), 'storage')
  const requested = textMember(objectMember(objectMember(spec, 'resources'), 'requests'), 'storage')
  if (requested === '') found.add(required(size))
  else checkPositive(requested, size, found)
  const source = memberOf(spec, 'dataSource')
  const reference = memberOf(spec, 'dataSourceRef')
  if (source !== undefined && reference !== undefined && !equalJson(source, reference)) {
    found.add(invalid(spellPath(at), fieldAt(at, 'dataSource'), 'must match dataSourceRef'))
  }
}
