import { isJsonObject } from '../json.ts'
import type { JsonObject } from '../json.ts'
import { difference, emptySet, intersection, isEmptySet, union } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldsOf } from './fields-of.ts'
import { identityOf } from './managers.ts'
import type { ManagedEntry, Managers } from './managers.ts'
import type { MergeType } from './merge-type.ts'
import { mergeValues } from './merge-values.ts'
import { transferFields, withDeclaredMembers } from './ownership.ts'
import type { Conflicts, Writer } from './ownership.ts'
import { removeFields } from './remove-fields.ts'
import { withoutServerFields } from './stripped-fields.ts'

export type Application = {
  readonly type: MergeType
  /** The paths of `config`, which the writer will own. */
  readonly entry: ManagedEntry
  /** The object with the fields that the writer wants and can set; has passed `checkElements`. */
  readonly config: JsonObject
  /** Returns a merged object with the types of its kind. @throws ApiError */
  readonly conform: (object: JsonObject) => JsonObject
}

export type Applied = {
  /** Without defaults for what was removed. */
  readonly object: JsonObject
  readonly managers: Managers
  /** Not empty: stored only if the writer forces it. */
  readonly conflicts: Conflicts
}

/** Returns the paths that an applier owns. */
export function appliedEntry(type: MergeType, config: JsonObject, writer: Writer): ManagedEntry {
  return { ...writer, operation: 'Apply', fields: withoutServerFields(fieldsOf(type, config)) }
}

/**
 * Applies an object: sets its fields, and removes the fields that the same manager applied before
 * and does not any more, unless others own them.
 *
 * @param live without managed fields
 * @param managers adapted to the current schema by `reconcileOwners`
 * @source structured-merge-diff `merge/update.go`, Apply
 */
export function applyConfig(application: Application, live: JsonObject, managers: Managers): Applied {
  const { type, config, entry, conform } = application
  const manager = identityOf(entry)
  const last = managers.get(manager)?.fields ?? emptySet
  const claimed = new Map(managers).set(manager, entry)
  const value = mergeValues(type, live, config)
  const merged = conform(isJsonObject(value) ? value : {})
  const left = difference(last, entry.fields)
  const pruned = prune(type, merged, { last, left, managers: claimed })
  const after = pruned === merged ? merged : conform(pruned)
  const transfer = transferFields({ type, before: live, after }, claimed, manager)
  return { object: after, managers: transfer.managers, conflicts: transfer.conflicts }
}

type Pruning = {
  /** Paths that the applier owned before. */
  readonly last: FieldSet
  /** Those that it does not apply any more. */
  readonly left: FieldSet
  readonly managers: Managers
}

/** Removes what the applier does not apply any more and has no other owner. */
function prune(type: MergeType, merged: JsonObject, of: Pruning): JsonObject {
  if (isEmptySet(of.left)) return merged
  const last = withDeclaredMembers(type, of.last)
  const all = withDeclaredMembers(type, fieldsOf(type, merged))
  let owned = emptySet
  for (const { fields } of of.managers.values()) owned = union(owned, withDeclaredMembers(type, fields))
  // First without all of the last configuration; the fields of other managers are added back.
  const remaining = withDeclaredMembers(type, fieldsOf(type, removeFields(type, merged, last)))
  const withOwned = removeFields(type, merged, difference(all, union(remaining, owned)))
  // Fields that the applier did not own are added back too.
  const kept = withDeclaredMembers(type, fieldsOf(type, withOwned))
  const removed = intersection(difference(all, kept), last)
  if (isEmptySet(removed)) return merged
  const pruned = removeFields(type, merged, removed)
  return isJsonObject(pruned) ? pruned : merged
}
