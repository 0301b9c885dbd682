import type { Random } from '../../../base/random.ts'

/** No vowels and no 0, 1 or 3, so that names contain no words and are not misread. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX_LENGTH = 5
const BASE_LENGTH_MAX = 63 - SUFFIX_LENGTH

/**
 * Returns a name for an object that gave only a prefix: the prefix, cut to 58 characters, and five
 * random characters. The store checks uniqueness: a creation whose name is taken tries others, and
 * fails with AlreadyExists and a time to retry if those are taken too.
 *
 * @source apiserver `pkg/storage/names`
 */
export function generateName(prefix: string, random: Random): string {
  let name = prefix.slice(0, BASE_LENGTH_MAX)
  for (let count = 0; count < SUFFIX_LENGTH; count++) name += ALPHABET[random.below(ALPHABET.length)]
  return name
}
