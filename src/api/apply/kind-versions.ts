import type { JsonObject } from '../json.ts'
import { compareValues } from './compare-values.ts'
import type { Comparison } from './compare-values.ts'
import { difference, isEmptySet } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import type { MergeType } from './merge-type.ts'
import { PathBudget } from './path-budget.ts'

/**
 * The versions of a kind: the paths of an owner are those of the version that it wrote.
 *
 * @source apiserver `fieldmanager/internal/versionconverter.go`
 */
export type KindVersions = {
  /** The version of the request. */
  readonly requested: string
  /** null: the kind has no such version. */
  readonly typeOf: (apiVersion: string) => MergeType | null
  /** Returns an object in another version. null: it cannot be converted. */
  readonly convert: (object: JsonObject, from: string, to: string) => JsonObject | null
}

/** Returns the versions of a kind that has only one. */
export function oneVersion(type: MergeType, requested: string): KindVersions {
  return {
    requested,
    typeOf: (apiVersion) => (apiVersion === requested ? type : null),
    convert: (object, from, to) => (from === to ? object : null),
  }
}

export type Change = {
  /** The merge type in the version of the request. */
  readonly type: MergeType
  readonly before: JsonObject
  readonly after: JsonObject
  /** Paths that are not compared: the server sets them. Unset: none. */
  readonly except?: FieldSet
  readonly versions: KindVersions
  /** Maximum number of paths that may differ in the version of the request. Unset: no limit. */
  readonly pathsMax?: number
}

/**
 * The differences of a change in each version that owners have. Those in other versions than that
 * of the request are computed at first use.
 */
export class VersionedComparison {
  readonly requested: Comparison
  readonly #change: Change
  readonly #budget = new PathBudget(OTHER_PATHS_MAX)
  readonly #others = new Map<string, Comparison | 'missing' | 'unknown'>()

  constructor(change: Change) {
    this.#change = change
    this.requested = comparisonOf(change, new PathBudget(change.pathsMax ?? Number.MAX_SAFE_INTEGER))
  }

  /**
   * @throws TooManyPathsError
   * @returns `missing`: the kind has no such version any more; `unknown`: the object cannot be
   * converted to it
   */
  in(apiVersion: string): Comparison | 'missing' | 'unknown' {
    if (apiVersion === this.#change.versions.requested) return this.requested
    let found = this.#others.get(apiVersion)
    if (found === undefined) {
      found = this.#compare(apiVersion)
      this.#others.set(apiVersion, found)
    }
    return found
  }

  #compare(apiVersion: string): Comparison | 'missing' | 'unknown' {
    const { before, after, versions } = this.#change
    const type = versions.typeOf(apiVersion)
    if (type === null) return 'missing'
    const converted = (object: JsonObject): JsonObject | null =>
      versions.convert(object, versions.requested, apiVersion)
    const [old, now] = [converted(before), converted(after)]
    if (old === null || now === null) return 'unknown'
    // Paths that the server sets are the same in nearly all versions.
    return comparisonOf({ ...this.#change, type, before: old, after: now }, this.#budget)
  }
}

/** Paths that comparisons in versions other than that of the request may find together. */
const OTHER_PATHS_MAX = 50_000

function comparisonOf({ type, before, after, except }: Change, budget: PathBudget): Comparison {
  const all = compareValues(type, before, after, budget)
  if (except === undefined || isEmptySet(except)) return all
  return {
    added: difference(all.added, except),
    modified: difference(all.modified, except),
    removed: difference(all.removed, except),
  }
}
