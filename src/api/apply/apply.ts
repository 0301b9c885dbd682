import { isJsonList, isJsonObject } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { difference, intersection, isEmptySet, sizeOf, union, unionOfAll } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldsOf } from './fields-of.ts'
import { identityOf } from './managers.ts'
import { keepApplied } from './keep-applied.ts'
import type { Change, KindVersions } from './kind-versions.ts'
import type { ManagedEntry, Managers } from './managers.ts'
import type { MergeType } from './merge-type.ts'
import { mergeValues, withoutNulls } from './merge-values.ts'
import { transferFields, withDeclaredMembers } from './ownership.ts'
import type { Conflicts, Writer } from './ownership.ts'
import { PathBudget } from './path-budget.ts'
import { removeFields } from './remove-fields.ts'
import { withoutServerFields } from './stripped-fields.ts'

export type Application = {
  readonly type: MergeType
  readonly versions: KindVersions
  /** The paths of `config`, which the writer will own. */
  readonly entry: ManagedEntry
  /** The object with the fields that the writer wants and can set; has passed `checkElements`. */
  readonly config: JsonObject
  /** Returns a merged object with the types of its kind. @throws ApiError */
  readonly conform: (object: JsonObject) => JsonObject
}

export type Applied = {
  /** Fields that the apply removed do not have their defaults yet. */
  readonly object: JsonObject
  readonly managers: Managers
  /** Not empty: stored only if the writer forces it. */
  readonly conflicts: Conflicts
}

/** Returns the paths that an applier owns. */
export function appliedEntry(type: MergeType, config: JsonObject, writer: Writer): ManagedEntry {
  return { operation: 'Apply', fields: withoutServerFields(fieldsOf(type, config)), ...writer }
}

/**
 * Applies an object: sets its fields, and removes the fields that the same manager applied before
 * and does not any more, unless others own them.
 *
 * @param live without managed fields
 * @param managers adapted to the current schema by `reconcileOwners`
 * @throws TooManyPathsError for a large object with owners of many versions
 * @source structured-merge-diff `merge/update.go`, Apply
 */
export function applyConfig(application: Application, live: JsonObject, managers: Managers): Applied {
  const { type, versions, config, entry, conform } = application
  const manager = identityOf(entry)
  const last = managers.get(manager)
  const claimed = new Map(managers).set(manager, entry)
  const value = mergeValues(type, live, config)
  const merged = conform(isJsonObject(value) ? value : {})
  const pruned = last === undefined ? merged : prune(versions, merged, { last, entry, managers: claimed })
  const after = pruned === merged ? merged : conform(withApplied(type, config, pruned))
  const change = { type, before: live, after, versions }
  const transfer = transferFields(change, claimed, manager, unset(application, live, merged))
  return { object: after, managers: transfer.managers, conflicts: transfer.conflicts }
}

/**
 * Returns the change that the `null` values of an applied object make. Each unsets a field, which
 * is a conflict with the owners of the field, like any other new value.
 */
function unset(
  { type, versions, config, conform }: Application,
  live: JsonObject,
  merged: JsonObject,
): Change | null {
  if (!hasNull(config)) return null
  const kept = mergeValues(type, live, withoutNulls(type, config))
  return { type, versions, before: conform(isJsonObject(kept) ? kept : {}), after: merged }
}

function hasNull(value: Json): boolean {
  if (isJsonList(value)) return value.some(hasNull)
  if (!isJsonObject(value)) return value === null
  for (const name in value) if (hasNull(value[name] ?? null)) return true
  return false
}

/**
 * Returns a pruned object with all structs, maps and lists that the configuration sets, even empty
 * ones.
 */
function withApplied(type: MergeType, config: JsonObject, pruned: JsonObject): JsonObject {
  const whole = keepApplied(type, config, pruned)
  return isJsonObject(whole) ? whole : pruned
}

type Pruning = {
  /** The entry of the applier before this apply, perhaps of another version. */
  readonly last: ManagedEntry
  readonly entry: ManagedEntry
  readonly managers: Managers
}

/**
 * Removes the fields that the applier no longer applies and that have no other owner. Returns the
 * identical object if nothing is removed.
 */
function prune(versions: KindVersions, merged: JsonObject, { last, entry, managers }: Pruning): JsonObject {
  const { requested } = versions
  const isSameVersion = last.apiVersion === requested
  if (isSameVersion && isEmptySet(difference(last.fields, entry.fields))) return merged
  const type = versions.typeOf(last.apiVersion)
  const whole = versions.convert(merged, requested, last.apiVersion)
  if (type === null || whole === null) return merged
  const lastFields = withDeclaredMembers(type, last.fields)
  // Remove all of the last configuration first, then add back the fields of all managers.
  const bare = removeFields(type, whole, lastFields)
  const owned = addOwned(versions, isJsonObject(bare) ? bare : {}, { whole, last, managers })
  // Fields that the applier did not own are added back too.
  const all = withDeclaredMembers(type, fieldsOf(type, whole))
  const kept = withDeclaredMembers(type, fieldsOf(type, owned))
  const removed = intersection(difference(all, kept), lastFields)
  if (isEmptySet(removed)) return merged
  const pruned = removeFields(type, whole, removed)
  return isJsonObject(pruned) ? (versions.convert(pruned, last.apiVersion, requested) ?? merged) : merged
}

type AddingBack = Pick<Pruning, 'last' | 'managers'> & { readonly whole: JsonObject }

/**
 * Adds back the fields that managers own, in the version of each manager. Returns the object in the
 * version of `last`. An element that is added back in one version may contain fields that are owned
 * in another version. Upstream's single round loses those fields; here rounds repeat until nothing
 * more is added.
 */
function addOwned(versions: KindVersions, bare: JsonObject, of: AddingBack): JsonObject {
  const { apiVersion: lastVersion } = of.last
  const byVersion = new Map<string, FieldSet[]>([[lastVersion, []]])
  for (const { apiVersion, fields } of of.managers.values()) {
    const known = byVersion.get(apiVersion)
    if (known === undefined) byVersion.set(apiVersion, [fields])
    else known.push(fields)
  }
  const owners = [...byVersion].map(([apiVersion, sets]) => [apiVersion, unionOfAll(sets)] as const)
  const budget = new PathBudget(ADDED_PATHS_MAX)
  let pruned = bare
  for (let round = 0; round < ROUNDS_MAX; round++) {
    let kept = 0
    for (const [apiVersion, fields] of owners) {
      const owned = addOwnedIn(versions, apiVersion, { ...of, pruned, fields, budget })
      pruned = owned.pruned
      kept += owned.added
    }
    if (owners.length === 1 || kept === 0) break
  }
  return pruned
}

/** Paths of the object that are visited for all versions and rounds together. */
const ADDED_PATHS_MAX = 100_000

/** Rounds for fields of several versions that contain each other. More: the rest is not added. */
const ROUNDS_MAX = 16

type AddingIn = AddingBack & {
  /** In the version of `last`. */
  readonly pruned: JsonObject
  readonly fields: FieldSet
  readonly budget: PathBudget
}

function addOwnedIn(
  versions: KindVersions,
  apiVersion: string,
  { last, whole: lastWhole, pruned, fields, budget }: AddingIn,
): { readonly pruned: JsonObject; readonly added: number } {
  const type = versions.typeOf(apiVersion)
  const whole = versions.convert(lastWhole, last.apiVersion, apiVersion)
  const left = versions.convert(pruned, last.apiVersion, apiVersion)
  if (type === null || whole === null || left === null) return { pruned, added: 0 }
  const own = fieldsOf(type, whole)
  budget.take(sizeOf(own))
  const all = withDeclaredMembers(type, own)
  const remaining = withDeclaredMembers(type, fieldsOf(type, left))
  const owned = withDeclaredMembers(type, fields)
  const more = removeFields(type, whole, difference(all, union(remaining, owned)))
  if (!isJsonObject(more)) return { pruned, added: 0 }
  const added = sizeOf(fieldsOf(type, more)) - sizeOf(fieldsOf(type, left))
  return { pruned: versions.convert(more, apiVersion, last.apiVersion) ?? pruned, added }
}
