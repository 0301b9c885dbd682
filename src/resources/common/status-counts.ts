import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { integerMember, numberMember, objectMember } from '../../api/json.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/**
 * Checks that counts of a status do not exceed another one.
 *
 * @param words the name of the other count in upstream's message
 */
export function checkNotMore(
  object: AnyObject,
  counts: readonly string[],
  than: string,
  words: string,
  found: Findings,
): void {
  const status = objectMember(object, 'status')
  const most = numberMember(status, than) ?? 0
  for (const name of counts) {
    const count = numberMember(status, name) ?? 0
    if (count > most) found.add(invalid(`status.${name}`, count, `cannot be greater than ${words}`))
  }
}

/** Checks that `status.collisionCount` never becomes smaller or unset. */
export function checkCollisions(object: AnyObject, current: AnyObject, found: Findings): void {
  const before = integerMember(objectMember(current, 'status'), 'collisionCount')
  const now = integerMember(objectMember(object, 'status'), 'collisionCount')
  if (before === null || (now !== null && now >= before)) return
  found.add(invalid('status.collisionCount', now ?? undefined, 'cannot be decremented'))
}
