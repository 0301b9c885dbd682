import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'

/**
 * Checks a union with exactly one member.
 *
 * @param at path of the union
 * @param what the noun in upstream's message: `volume`, `handler`
 */
export function exactlyOne(
  union: JsonObject,
  at: Path | null,
  members: readonly string[],
  what: string,
  found: Findings,
): void {
  if (membersSet(union, members).length > 0) {
    atMostOne(union, at, members, what, found)
    return
  }
  found.add(required(spellPath(at), `must specify a ${what} type`))
}

/** Checks a union with at most one member. */
export function atMostOne(
  union: JsonObject,
  at: Path | null,
  members: readonly string[],
  what: string,
  found: Findings,
): void {
  const [, ...more] = membersSet(union, members)
  for (const name of more)
    found.add(fieldForbidden(fieldAt(at, name), `may not specify more than 1 ${what} type`))
}

/** Returns the members that are set, in the given order. */
export function membersSet(union: JsonObject, members: readonly string[]): readonly string[] {
  return members.filter((name) => Object.hasOwn(union, name))
}
