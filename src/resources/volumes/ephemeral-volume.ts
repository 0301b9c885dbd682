import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden } from '../../api/errors/field-error.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { isJsonList, isJsonObject, memberOf, objectMember, textMember } from '../../api/json.ts'
import { validateAnnotations, validateLabels } from '../../api/metadata/object-meta.ts'
import { maybe, part, struct } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { objectMetaSchema } from '../../api/schema/shared.ts'
import { persistentVolumeClaimSpecSchema } from './persistent-volume-claim-spec.ts'

/** A volume with a claim that is created for the Pod and deleted with it. @source spec 2.5 */

const persistentVolumeClaimTemplateSchema = struct(
  'core.v1.PersistentVolumeClaimTemplate',
  'Template for a claim.',
  {
    metadata: part(1, objectMetaSchema, 'Labels and annotations of the claim; no other fields are allowed.'),
    spec: part(2, persistentVolumeClaimSpecSchema, 'Specification of the claim.', {
      required: true,
      always: true,
    }),
  },
  { check: checkTemplateMetadata },
)

export const ephemeralVolumeSourceSchema = struct(
  'core.v1.EphemeralVolumeSource',
  'A volume with a claim of its own, named after the Pod and the volume, that is deleted with the Pod.',
  {
    volumeClaimTemplate: maybe(1, persistentVolumeClaimTemplateSchema, 'Template for the claim.', {
      required: true,
    }),
  },
)

const MEMBERS_OF_TEMPLATES = ['annotations', 'labels']

function checkTemplateMetadata(template: JsonObject, at: Path | null, found: Findings): void {
  const metadata = objectMember(template, 'metadata')
  const texts = (name: string) => textsByKey(objectMember(metadata, name))
  const others = Object.keys(metadata).filter((name) => !MEMBERS_OF_TEMPLATES.includes(name))
  validateLabels(texts('labels'), fieldAt(at, 'metadata', 'labels'), found)
  validateAnnotations(texts('annotations'), fieldAt(at, 'metadata', 'annotations'), found)
  for (const name of others.filter((name) => !isZero(memberOf(metadata, name))))
    found.add(fieldForbidden(fieldAt(at, 'metadata', name), 'cannot be set for an ephemeral volume'))
}

function textsByKey(map: JsonObject): { readonly [key: string]: string } {
  return Object.fromEntries(Object.keys(map).map((key) => [key, textMember(map, key)]))
}

/** Returns whether a value is equivalent to absent. */
function isZero(value: Json | undefined): boolean {
  if (isJsonList(value)) return value.length === 0
  if (isJsonObject(value)) return Object.keys(value).length === 0
  return value === undefined || value === null || value === '' || value === 0
}
