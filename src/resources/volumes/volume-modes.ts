import type { Findings } from '../../api/errors/findings.ts'
import { notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textsMember } from '../../api/json.ts'
import type { Field } from '../../api/schema/build.ts'
import { listOf, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { Schema } from '../../api/schema/schema.ts'

/** Access and volume modes, shared by claims and persistent volumes. */

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce']

export function accessModes(number: number, words: string): Field {
  const mode: Schema = { type: 'string', known: ACCESS_MODES }
  return listOf(number, mode, `${words} ReadWriteOnce, ReadOnlyMany or ReadWriteMany.`)
}

export function volumeMode(number: number): Field {
  return text(number, 'Volume mode: Filesystem or Block.', {
    optional: true,
    enum: ['Block', 'Filesystem'],
    default: 'Filesystem',
  })
}

/** @param value a struct that has `accessModes` */
export function checkAccessModes(value: JsonObject, at: Path | null, found: Findings): void {
  const modes = textsMember(value, 'accessModes')
  const field = fieldAt(at, 'accessModes')
  if (modes.length === 0) {
    found.add(required(field, 'at least 1 access mode is required'))
    return
  }
  const unknown = modes.filter((mode) => !ACCESS_MODES.includes(mode))
  for (const mode of unknown) found.add(notSupported(field, mode, ACCESS_MODES))
}
