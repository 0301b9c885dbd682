import type { Field } from '../../api/schema/build.ts'
import { flag, text } from '../../api/schema/build.ts'

/** Members that most volume sources have, with the field number as parameter. */

export function fsType(number: number): Field {
  return text(number, "File system type, such as ext4; the node's default when unset.")
}

export function readOnly(number: number): Field {
  return flag(number, 'Whether the volume is mounted read-only.')
}
