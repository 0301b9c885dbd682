import { assert } from '../../../base/assert.ts'
import { placeOf } from './definition.ts'
import type { ResourceDefinition } from './definition.ts'

/**
 * All kinds this server knows, by group, version and plural: those of the program, which stay, and
 * custom ones, which are replaced as a whole while it runs. Discovery and OpenAPI read it.
 */
export class Catalog {
  readonly #builtIn: ReadonlyMap<string, ResourceDefinition>
  /** Found when they are asked for, and listed nowhere. */
  readonly #aliases: ReadonlyMap<string, ResourceDefinition>
  readonly #custom: CustomSet
  #all: { readonly version: number; readonly kinds: readonly ResourceDefinition[] } | null = null

  /** @param custom as another catalog has them; unset: none yet */
  constructor(definitions: readonly ResourceDefinition[], custom = new CustomSet(definitions)) {
    this.#builtIn = byPathOf(definitions)
    this.#aliases = byPathOf(aliasesOf(definitions))
    for (const path of this.#aliases.keys()) assert(!this.#builtIn.has(path), `${path} is declared once`)
    this.#custom = custom
  }

  /**
   * Another one for each set of custom kinds, ascending: what was made of `all` with the same
   * version is up to date.
   */
  get version(): number {
    return this.#custom.version
  }

  find(group: string, version: string, plural: string): ResourceDefinition | null {
    const path = `${group}/${version}/${plural}`
    return this.#builtIn.get(path) ?? this.#custom.byPath.get(path) ?? this.#aliases.get(path) ?? null
  }

  /** As they are in this turn: the program's own in order of declaration, then the custom ones. */
  all(): readonly ResourceDefinition[] {
    if (this.#all?.version !== this.version) {
      this.#all = {
        version: this.version,
        kinds: [...this.#builtIn.values(), ...this.#custom.byPath.values()],
      }
    }
    return this.#all.kinds
  }

  /** Those of the program. */
  builtIn(): readonly ResourceDefinition[] {
    return [...this.#builtIn.values()]
  }

  /** Whether a kind of the program has its objects there. */
  isOwnPlace(place: Place): boolean {
    return this.#custom.isTaken(place)
  }

  /**
   * All kinds, and what stands for the objects of definitions of which no version is served, or
   * none that shows objects of all versions.
   */
  withUnserved(): readonly ResourceDefinition[] {
    return [...this.all(), ...this.#custom.unserved]
  }

  /**
   * A catalog with these of the program's own kinds only, and with the same custom ones at any
   * time.
   */
  narrowed(builtIn: readonly ResourceDefinition[]): Catalog {
    return new Catalog(builtIn, this.#custom)
  }

  /**
   * Replaces all custom kinds, here and in what was narrowed from it.
   *
   * @param objects those of all definitions, each in whatever versions they are
   * @returns those left out, because their path, or the place of their objects, is that of a kind of the program or of one
   *   before them
   */
  setCustom(
    kinds: readonly ResourceDefinition[],
    objects: readonly ResourceDefinition[] = [],
  ): readonly ResourceDefinition[] {
    return this.#custom.replace(kinds, objects)
  }

  /**
   * @param listener called right after each change of the custom kinds. @returns takes it off again
   */
  onChange(listener: () => void): () => void {
    return this.#custom.onChange(listener)
  }
}

/** Where objects lie. */
type Place = { readonly group: string; readonly plural: string }

/** What all catalogs of one server share. */
class CustomSet {
  /** Paths and places that no custom kind may have. */
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
    const whole = [...byPath.values()].filter(({ storedAs }) => storedAs?.byWebhook !== true)
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
 * Versions of a kind share a place; another kind in it would read their objects as its own. No path
 * has one slash.
 */
function placeKeyOf(definition: ResourceDefinition): string {
  const { group, plural } = placeOf(definition)
  return `${group}/${plural}`
}
