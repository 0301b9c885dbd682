import type { Findings } from '../../api/errors/findings.ts'
import { invalid, tooLong } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectMember, textMember } from '../../api/json.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { flag, maybe, struct, text, textMap } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, member } from '../../api/schema/path.ts'
import { localObjectReferenceSchema } from '../common/local-object-reference.ts'
import { requiredTexts } from '../common/required-texts.ts'
import { secretReferenceSchema } from '../common/secret-reference.ts'
import { fsType, readOnly } from './volume-fields.ts'

/** Volumes of Container Storage Interface drivers. @source spec 2.5, 2.7, 2.10 */

const DRIVER_NAME_BYTES_MAX = 63

const driver = text(1, 'Name of the driver.', { required: true })

export const csiVolumeSourceSchema = struct(
  'core.v1.CSIVolumeSource',
  'An inline CSI volume that is created and deleted with the Pod.',
  {
    driver,
    readOnly: flag(2, 'Whether the volume is mounted read-only.', { optional: true }),
    fsType: text(3, "File system type; the driver's default when unset.", { optional: true }),
    volumeAttributes: textMap(4, 'Attributes passed to the driver.'),
    nodePublishSecretRef: maybe(
      5,
      localObjectReferenceSchema,
      'Secret for publishing the volume on the node.',
    ),
  },
  { check: checkCsi },
)

/** Members of the persistent form that refer to a Secret. */
const SECRET_REFERENCES = [
  'controllerPublishSecretRef',
  'nodeStageSecretRef',
  'nodePublishSecretRef',
  'controllerExpandSecretRef',
]

export const csiPersistentVolumeSourceSchema = struct(
  'core.v1.CSIPersistentVolumeSource',
  'A CSI volume.',
  {
    driver,
    volumeHandle: text(2, 'ID of the volume in the driver.', { required: true }),
    readOnly: readOnly(3),
    fsType: fsType(4),
    volumeAttributes: textMap(5, 'Attributes passed to the driver.'),
    controllerPublishSecretRef: maybe(6, secretReferenceSchema, 'Secret for attaching the volume to a node.'),
    nodeStageSecretRef: maybe(7, secretReferenceSchema, 'Secret for staging the volume on a node.'),
    nodePublishSecretRef: maybe(8, secretReferenceSchema, 'Secret for publishing the volume to a Pod.'),
    controllerExpandSecretRef: maybe(9, secretReferenceSchema, 'Secret for expanding the volume.'),
  },
  { check: checkPersistentCsi },
)

/**
 * Checks the name of a driver: a DNS subdomain, with upper case too, of at most 63 bytes. An empty
 * one is rejected elsewhere.
 */
export function checkDriverName(name: string, field: string, found: Findings): void {
  if (name === '') return
  if (name.length > DRIVER_NAME_BYTES_MAX) found.add(tooLong(field, DRIVER_NAME_BYTES_MAX))
  const wrong = checkDns1123Subdomain(name.toLowerCase())
  for (const words of wrong) found.add(invalid(field, name, words))
}

function checkCsi(source: JsonObject, at: Path | null, found: Findings): void {
  checkDriverName(textMember(source, 'driver'), fieldAt(at, 'driver'), found)
  const there = 'nodePublishSecretRef'
  if (!Object.hasOwn(source, there)) return
  requiredTexts(objectMember(source, there), member(at, there), ['name'], found)
}

function checkPersistentCsi(source: JsonObject, at: Path | null, found: Findings): void {
  checkDriverName(textMember(source, 'driver'), fieldAt(at, 'driver'), found)
  for (const there of SECRET_REFERENCES) {
    if (!Object.hasOwn(source, there)) continue
    const reference = objectMember(source, there)
    requiredTexts(reference, member(at, there), ['name', 'namespace'], found)
    for (const name of ['name', 'namespace']) {
      const value = textMember(reference, name)
      if (value === '') continue
      const field = fieldAt(at, there, name)
      for (const words of checkDns1123Label(value)) found.add(invalid(field, value, words))
    }
  }
}
