import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'

/**
 * A union: of these members one stands there.
 *
 * @param at where the union stands
 * @param what of which it has one type, as upstream's words go: `volume`, `handler`
 */
export function exactlyOne(
  union: JsonObject,
  at: Path | null,
  members: readonly string[],
  what: string,
  found: Findings,
): void {
  if (membersSaid(union, members).length > 0) {
    atMostOne(union, at, members, what, found)
    return
  }
  found.add(required(spellPath(at), `must specify a ${what} type`))
}

/** A union that may be empty. */
export function atMostOne(
  union: JsonObject,
  at: Path | null,
  members: readonly string[],
  what: string,
  found: Findings,
): void {
  const [, ...more] = membersSaid(union, members)
  for (const name of more)
    found.add(fieldForbidden(fieldAt(at, name), `may not specify more than 1 ${what} type`))
}

/** Which of them stand there, in their order. */
export function membersSaid(union: JsonObject, members: readonly string[]): readonly string[] {
  return members.filter((name) => Object.hasOwn(union, name))
}
