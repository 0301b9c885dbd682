import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import { goSelector } from '../../api/errors/go-values.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf } from '../../api/json.ts'
import { equalUnder } from '../../api/schema/equal.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/**
 * Checks that the meaning of these members did not change.
 *
 * @param at path of the struct; null: the root
 */
export function checkImmutable(
  schema: ObjectSchema,
  at: Path | null,
  of: { readonly value: JsonObject; readonly before: JsonObject },
  names: readonly string[],
  found: Findings,
): void {
  for (const name of names.filter((name) => isChanged(schema, name, of.value, of.before))) {
    const value = memberOf(of.value, name)
    const format = isSelector(schema, name) && value !== undefined ? goSelector : undefined
    found.add(invalid(fieldAt(at, name), value, 'field is immutable', format))
  }
}

function isSelector({ properties }: ObjectSchema, name: string): boolean {
  const type = properties[name]
  return type?.type === 'object' && Object.hasOwn(type.properties, 'matchExpressions')
}

/** Returns whether the meaning of a member changed. */
export function isChanged(
  schema: ObjectSchema,
  name: string,
  value: JsonObject,
  before: JsonObject,
): boolean {
  const type = schema.properties[name]
  return type !== undefined && !equalUnder(type, memberOf(value, name), memberOf(before, name))
}
