import { memberOf, objectMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject, Column } from '../../registry/kinds/definition.ts'

/** Cells that claims and persistent volumes share. */

const SHORT_MODES: readonly (readonly [mode: string, short: string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
]

/** Returns access modes such as `RWO,RWX`. @param value a struct that has `accessModes` */
export function shortAccessModes(value: JsonObject): string {
  const modes = textsMember(value, 'accessModes')
  return SHORT_MODES.filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',')
}

/** The annotation that named the class before the member existed. */
export function classAnnotation(names: Names): string {
  return names.labelUnder('volume.beta', 'storage-class')
}

export function storageClassOf(object: AnyObject, names: Names): string {
  const annotated = object.metadata.annotations?.[classAnnotation(names)]
  return annotated ?? textMember(objectMember(object, 'spec'), 'storageClassName')
}

/** An object that is being deleted shows that instead of its phase. */
export function shownPhase(object: AnyObject): string {
  if (typeof object.metadata.deletionTimestamp === 'string') return 'Terminating'
  return textMember(objectMember(object, 'status'), 'phase')
}

/** @param amounts by resource */
export function storageAmount(amounts: JsonObject): string {
  const amount = memberOf(amounts, 'storage')
  return typeof amount === 'string' ? amount : '0'
}

export const volumeModeColumn: Column = {
  name: 'VolumeMode',
  type: 'string',
  priority: 1,
  description: 'Volume mode: Filesystem or Block.',
  cell: (object) => {
    const mode = textMember(objectMember(object, 'spec'), 'volumeMode')
    return mode === '' ? '<unset>' : mode
  },
}
