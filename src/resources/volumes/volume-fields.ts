import type { Field } from '../../api/schema/build.ts'
import { flag, text } from '../../api/schema/build.ts'

/** Members that most volume sources have, under numbers of their own. */

export function fsType(number: number): Field {
  return text(number, 'Type of its file system, such as ext4; unset leaves it to the node.')
}

export function readOnly(number: number): Field {
  return flag(number, 'Whether it is only read from.')
}
