import { arithmetic } from './arithmetic.ts'
import { comparisons } from './comparisons.ts'
import { containers } from './containers.ts'
import { conversions } from './conversions.ts'
import { lists } from './lists.ts'
import { logic } from './logic.ts'
import { namedFormats } from './named-formats.ts'
import { networks } from './networks.ts'
import { optionals } from './optionals.ts'
import type { FunctionEntry, Overload } from './overload.ts'
import { quantities } from './quantities.ts'
import { regexes } from './regexes.ts'
import { sets } from './sets.ts'
import { textExtensions } from './text-extensions.ts'
import { texts } from './texts.ts'
import { times } from './times.ts'
import { urls } from './urls.ts'

/**
 * Every function and operator by name, each with all of its overloads.
 *
 * @source github.com/google/cel-spec/blob/master/doc/langdef.md#functions; apiserver
 *   `pkg/cel/environment/base.go`
 */
export const functions: ReadonlyMap<string, readonly Overload[]> = merged([
  arithmetic,
  comparisons,
  containers,
  conversions,
  lists,
  logic,
  namedFormats,
  networks,
  optionals,
  quantities,
  regexes,
  sets,
  textExtensions,
  texts,
  times,
  urls,
])

function merged(libraries: readonly (readonly FunctionEntry[])[]): Map<string, Overload[]> {
  const all = new Map<string, Overload[]>()
  for (const [name, ...overloads] of libraries.flat()) {
    all.set(name, [...(all.get(name) ?? []), ...overloads])
  }
  return all
}
