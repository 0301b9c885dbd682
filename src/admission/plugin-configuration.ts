import { textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'

/** The type and the members that the configuration of a plugin may have. */
export type ConfigurationShape = {
  readonly kind: string
  readonly apiVersions: readonly string[]
  /** Besides `kind` and `apiVersion`. */
  readonly members: readonly string[]
}

/**
 * Checks the type and the members of the configuration of a plugin: a misspelled member would leave
 * the plugin at its defaults.
 *
 * @param problem called with each thing that is wrong
 */
export function checkConfigurationShape(
  given: JsonObject,
  { kind, apiVersions, members }: ConfigurationShape,
  problem: (words: string) => void,
): void {
  if (textMember(given, 'kind') !== kind) problem(`kind: must be ${kind}`)
  if (!apiVersions.includes(textMember(given, 'apiVersion'))) {
    problem(`apiVersion: must be ${apiVersions.join(' or ')}`)
  }
  for (const name of Object.keys(given)) {
    if (name === 'kind' || name === 'apiVersion' || members.includes(name)) continue
    problem(`${name}: unknown field; the fields are ${members.join(', ')}`)
  }
}
