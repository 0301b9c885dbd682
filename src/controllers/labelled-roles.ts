import type { LabelSelector } from '../api/selectors/label-selector.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

/**
 * The ClusterRoles by their labels, and the aggregating ones by the labels that they select. So the
 * work for a change does not grow with the number of all roles.
 */
export class LabelledRoles {
  readonly #roles = new Map<string, AnyObject>()
  readonly #selectors = new Map<string, readonly LabelSelector[]>()
  /** Names of roles by `tagsOf`. */
  readonly #byTag = new Map<string, Set<string>>()
  /** Names of aggregating roles by `wantedBy`. */
  readonly #byWanted = new Map<string, Set<string>>()

  /** @param selectors empty: the role does not aggregate */
  set(name: string, role: AnyObject, selectors: readonly LabelSelector[]): void {
    this.delete(name)
    this.#roles.set(name, role)
    for (const tag of tagsOf(role)) add(this.#byTag, tag, name)
    if (selectors.length === 0) return
    this.#selectors.set(name, selectors)
    for (const tag of selectors.flatMap(wantedBy)) add(this.#byWanted, tag, name)
  }

  delete(name: string): void {
    const role = this.#roles.get(name)
    if (role === undefined) return
    for (const tag of tagsOf(role)) remove(this.#byTag, tag, name)
    for (const tag of this.selectorsOf(name).flatMap(wantedBy)) remove(this.#byWanted, tag, name)
    this.#roles.delete(name)
    this.#selectors.delete(name)
  }

  get(name: string): AnyObject | null {
    return this.#roles.get(name) ?? null
  }

  aggregating(): Iterable<string> {
    return this.#selectors.keys()
  }

  /** Returns an empty list for a role that does not aggregate. */
  selectorsOf(name: string): readonly LabelSelector[] {
    return this.#selectors.get(name) ?? []
  }

  /** Returns the names of the aggregating roles that may select this one. */
  mayConcern(role: AnyObject): ReadonlySet<string> {
    return namesAt(this.#byWanted, tagsOf(role))
  }

  /** Returns the roles that one of the selectors may select. */
  mayBeSelected(selectors: readonly LabelSelector[]): readonly AnyObject[] {
    const names = namesAt(this.#byTag, selectors.flatMap(wantedBy))
    return [...names].flatMap((name) => this.#roles.get(name) ?? [])
  }
}

/** The tag of every role. */
const ANY = ''

/** Returns the tags of a role: `ANY`, and for each label its key and its `tagOf`. */
function tagsOf(role: AnyObject): readonly string[] {
  const labels = Object.entries(role.metadata.labels ?? {})
  return [ANY, ...labels.flatMap(([key, value]) => [key, tagOf(key, value)])]
}

/**
 * Returns tags such that every role that the selector selects has one of them. Prefers tags that
 * few roles have.
 */
function wantedBy({ requirements }: LabelSelector): readonly string[] {
  const equal = requirements.find(({ operator }) => ['=', '==', 'in'].includes(operator))
  if (equal !== undefined) return equal.values.map((value) => tagOf(equal.key, value))
  const present = requirements.find(({ operator }) => ['exists', 'gt', 'lt'].includes(operator))
  return [present?.key ?? ANY]
}

/** Returns the tag of a label with its value. It differs from all keys: none contains a `=`. */
function tagOf(key: string, value: string): string {
  return `${key}=${value}`
}

function namesAt(index: ReadonlyMap<string, ReadonlySet<string>>, tags: readonly string[]): Set<string> {
  return new Set(tags.flatMap((tag) => [...(index.get(tag) ?? [])]))
}

function add(index: Map<string, Set<string>>, tag: string, name: string): void {
  const names = index.get(tag)
  if (names === undefined) index.set(tag, new Set([name]))
  else names.add(name)
}

function remove(index: Map<string, Set<string>>, tag: string, name: string): void {
  const names = index.get(tag)
  if (names?.delete(name) === true && names.size === 0) index.delete(tag)
}
