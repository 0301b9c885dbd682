import { assert } from '../../../base/assert.ts'
import { placeOf } from './definition.ts'
import { KindIndex } from './kind-index.ts'
import type { ResourceDefinition } from './definition.ts'

/**
 * All kinds of this server, by group, version and plural: the built-in ones, which are fixed, and
 * the custom ones, which are replaced as a whole at run time. Discovery and OpenAPI read it.
 */
export class Catalog {
  readonly #builtIn: ReadonlyMap<string, ResourceDefinition>
  /** Can be looked up, but are not listed. */
  readonly #aliases: ReadonlyMap<string, ResourceDefinition>
  readonly #custom: CustomSet
  #all: { readonly version: number; readonly kinds: readonly ResourceDefinition[] } | null = null
  #index: {
    readonly unserved: CustomSet['unserved']
    readonly version: number
    readonly of: KindIndex
  } | null = null

  /** @param custom shared with another catalog; unset: none yet */
  constructor(definitions: readonly ResourceDefinition[], custom = new CustomSet(definitions)) {
    this.#builtIn = byPathOf(definitions)
    this.#aliases = byPathOf(aliasesOf(definitions))
    for (const path of this.#aliases.keys()) assert(!this.#builtIn.has(path), `${path} is declared once`)
    this.#custom = custom
  }

  /** Increases with each change of the custom kinds, to invalidate what was derived from `all`. */
  get version(): number {
    return this.#custom.version
  }

  find(group: string, version: string, plural: string): ResourceDefinition | null {
    const path = `${group}/${version}/${plural}`
    return this.#builtIn.get(path) ?? this.#custom.byPath.get(path) ?? this.#aliases.get(path) ?? null
  }

  /** The current kinds: the built-in ones in order of declaration, then the custom ones. */
  all(): readonly ResourceDefinition[] {
    if (this.#all?.version !== this.version) {
      this.#all = {
        version: this.version,
        kinds: [...this.#builtIn.values(), ...this.#custom.byPath.values()],
      }
    }
    return this.#all.kinds
  }

  /** Returns the kind of `all` with this path. @returns null for an alias, too */
  listed(group: string, version: string, plural: string): ResourceDefinition | null {
    const path = `${group}/${version}/${plural}`
    return this.#builtIn.get(path) ?? this.#custom.byPath.get(path) ?? null
  }

  /** The index of `withUnserved`, which is made once for each change of the custom kinds. */
  index(): KindIndex {
    const { version, unserved } = this.#custom
    if (this.#index?.version !== version || this.#index.unserved !== unserved)
      this.#index = { version, unserved, of: new KindIndex(this.withUnserved()) }
    return this.#index.of
  }

  /** The built-in kinds. */
  builtIn(): readonly ResourceDefinition[] {
    return [...this.#builtIn.values()]
  }

  /** Whether a built-in kind has its objects at this location. */
  isOwnPlace(place: Place): boolean {
    return this.#custom.isTaken(place)
  }

  /**
   * All kinds, plus placeholders for the objects of definitions that have no served version, or a
   * conversion webhook: through a placeholder, objects are deleted without calling the webhook.
   */
  withUnserved(): readonly ResourceDefinition[] {
    return [...this.all(), ...this.#custom.unserved]
  }

  /** Returns a catalog with only these built-in kinds, which shares the custom kinds. */
  narrowed(builtIn: readonly ResourceDefinition[]): Catalog {
    return new Catalog(builtIn, this.#custom)
  }

  /**
   * Replaces all custom kinds, in all catalogs that share them.
   *
   * @param objects placeholders, one for each definition
   * @returns the kinds left out: those of the core group, those whose path or storage location
   * belongs to a built-in kind, and those whose path belongs to an earlier kind
   */
  setCustom(
    kinds: readonly ResourceDefinition[],
    objects: readonly ResourceDefinition[] = [],
  ): readonly ResourceDefinition[] {
    return this.#custom.replace(kinds, objects)
  }

  /**
   * Calls `listener` after each change of the custom kinds.
   *
   * @returns a function that unsubscribes it
   */
  onChange(listener: () => void): () => void {
    return this.#custom.onChange(listener)
  }
}

/** Location of objects in the store. */
type Place = { readonly group: string; readonly plural: string }

/** The custom kinds, shared by all catalogs of one server. */
class CustomSet {
  /** Paths and locations of built-in kinds, which no custom kind may have. */
  readonly #taken: ReadonlySet<string>
  readonly #listeners = new Set<() => void>()
  byPath: ReadonlyMap<string, ResourceDefinition> = new Map()
  unserved: readonly ResourceDefinition[] = []
  version = 0

  constructor(builtIn: readonly ResourceDefinition[]) {
    const all = [...builtIn, ...aliasesOf(builtIn)]
    this.#taken = new Set(all.flatMap((kind) => [pathOf(kind), placeKeyOf(kind)]))
  }

  isTaken({ group, plural }: Place): boolean {
    return this.#taken.has(`${group}/${plural}`)
  }

  replace(
    kinds: readonly ResourceDefinition[],
    objects: readonly ResourceDefinition[],
  ): readonly ResourceDefinition[] {
    const byPath = new Map<string, ResourceDefinition>()
    const leftOut: ResourceDefinition[] = []
    for (const kind of kinds) {
      const path = pathOf(kind)
      const isTaken = kind.group === '' || this.#taken.has(path) || this.isTaken(placeOf(kind))
      if (isTaken || byPath.has(path)) leftOut.push(kind)
      else byPath.set(path, kind)
    }
    const whole = [...byPath.values()].filter(({ storedAs }) => storedAs?.webhook === undefined)
    const places = new Set(whole.map(placeKeyOf))
    this.unserved = objects.filter((one) => !this.isTaken(placeOf(one)) && !places.has(placeKeyOf(one)))
    if (isSame(this.byPath, byPath)) return leftOut
    this.byPath = byPath
    this.version++
    for (const listener of [...this.#listeners]) listener()
    return leftOut
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

function aliasesOf(definitions: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  return definitions.flatMap(({ aliases }) => aliases ?? [])
}

function byPathOf(definitions: readonly ResourceDefinition[]): ReadonlyMap<string, ResourceDefinition> {
  const byPath = new Map<string, ResourceDefinition>()
  for (const definition of definitions) {
    const path = pathOf(definition)
    assert(!byPath.has(path), `${path} is declared once`)
    byPath.set(path, definition)
  }
  return byPath
}

function isSame(
  a: ReadonlyMap<string, ResourceDefinition>,
  b: ReadonlyMap<string, ResourceDefinition>,
): boolean {
  return a.size === b.size && [...a].every(([path, kind]) => b.get(path) === kind)
}

function pathOf({ group, version, plural }: ResourceDefinition): string {
  return `${group}/${version}/${plural}`
}

/**
 * Versions of a kind share a location; another kind there would read their objects as its own.
 * Unlike a path, the key has a single slash.
 */
function placeKeyOf(definition: ResourceDefinition): string {
  const { group, plural } = placeOf(definition)
  return `${group}/${plural}`
}
