import { isJsonObject } from '../json.ts'
import type { JsonObject } from '../json.ts'
import type { Comparison } from './compare-values.ts'
import { difference, emptySet, intersection, isEmptySet, union } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { storedFieldsOf } from './fields-v1.ts'
import { VersionedComparison } from './kind-versions.ts'
import type { Change, KindVersions } from './kind-versions.ts'
import { capUpdaters, identityOf } from './managers.ts'
import type { ManagedEntry, ManagerIdentity, Managers } from './managers.ts'
import { leaf, resolved } from './merge-type.ts'
import type { MergeType } from './merge-type.ts'
import { withoutServerFields } from './stripped-fields.ts'

/** The fields of other managers that a change would give other values, by identity. */
export type Conflicts = ReadonlyMap<string, ManagedEntry>

/** The owners after a change, and the fields that the change took from other managers. */
export type Transfer = {
  readonly managers: Managers
  readonly conflicts: Conflicts
  readonly comparison: Comparison
}

/**
 * Takes added, changed and removed fields from all managers but the writer.
 *
 * @param manager identity of the writer, whose entry stays as it is
 * @param unset a part of the change whose removed fields are conflicts, too
 * @source structured-merge-diff `merge/update.go`
 */
export function transferFields(
  change: Change,
  managers: Managers,
  manager: string,
  unset: Change | null = null,
): Transfer {
  const comparison = new VersionedComparison(change)
  const unsetComparison = unset === null ? null : new VersionedComparison(unset)
  const conflicts = new Map<string, ManagedEntry>()
  const left = new Map<string, ManagedEntry>()
  // Made once for each version, because there may be thousands of managers.
  const taken = new Map<Comparison, FieldSet>()
  for (const [identity, entry] of managers) {
    const compared = identity === manager ? 'unknown' : comparison.in(entry.apiVersion)
    if (compared === 'missing') continue
    if (compared === 'unknown') {
      left.set(identity, entry)
      continue
    }
    const changed =
      taken.get(compared) ??
      union(union(compared.modified, compared.added), removedIn(unsetComparison, entry))
    taken.set(compared, changed)
    const lost = intersection(entry.fields, changed)
    if (!isEmptySet(lost)) conflicts.set(identity, { ...entry, fields: lost })
    const fields = difference(difference(entry.fields, lost), compared.removed)
    if (!isEmptySet(fields)) left.set(identity, fields === entry.fields ? entry : { ...entry, fields })
  }
  return { managers: left, conflicts, comparison: comparison.requested }
}

function removedIn(comparison: VersionedComparison | null, { apiVersion }: ManagedEntry): FieldSet {
  const compared = comparison?.in(apiVersion) ?? 'unknown'
  return typeof compared === 'string' ? emptySet : compared.removed
}

/** A writer and the time of its write. */
export type Writer = Omit<ManagerIdentity, 'operation'> & {
  /** RFC 3339, whole seconds. */
  readonly time: string
}

export type UpdateOptions = {
  readonly writer: Writer
  /** Paths that the writer owns even if it did not change them. Unset: none. */
  readonly claimed?: FieldSet
  /** See `capUpdaters`. */
  readonly updatersMax: number
}

/**
 * Returns the owners after an update: the writer owns all that it added or changed.
 *
 * @param managers before the update, adapted to the current schema by `reconcileOwners`
 */
export function trackUpdate(
  change: Change,
  managers: Managers,
  { writer, claimed = emptySet, updatersMax }: UpdateOptions,
): Managers {
  const { manager, apiVersion, subresource, time } = writer
  const own = { manager, apiVersion, subresource, time, operation: 'Update' }
  const identity = identityOf(own)
  const { managers: left, comparison } = transferFields(change, managers, identity)
  const { added, modified, removed } = comparison
  const before = managers.get(identity)
  const kept = difference(before?.fields ?? emptySet, removed)
  const fields = withoutServerFields(union(union(modified, added), claimed))
  const tracked = new Map(left)
  if (!isEmptySet(fields)) tracked.set(identity, { fields: union(kept, fields), ...own })
  else if (before !== undefined) tracked.set(identity, { ...before, fields: kept })
  return capUpdaters(tracked, updatersMax)
}

/**
 * Adapts owners to the current schemas: the owner of a part of a value that became atomic owns the
 * whole.
 *
 * @source structured-merge-diff `typed/reconcile_schema.go`; spec 4.10
 */
export function reconcileOwners({ typeOf }: Pick<KindVersions, 'typeOf'>, managers: Managers): Managers {
  let adapted: Map<string, ManagedEntry> | null = null
  for (const [identity, entry] of managers) {
    const type = typeOf(entry.apiVersion)
    const fields = type === null ? entry.fields : reconcileFields(type, entry.fields)
    if (fields === entry.fields) continue
    adapted ??= new Map(managers)
    adapted.set(identity, { ...entry, fields })
  }
  return adapted ?? managers
}

/** @returns the identical set if it fits the type */
function reconcileFields(type: MergeType, fields: FieldSet): FieldSet {
  if (type.kind !== 'struct' && type.kind !== 'keyed') return fields
  // Almost all sets fit; this check does not need their nodes.
  const stored = storedFieldsOf(fields)
  if (stored !== null && fits(type, stored)) return fields
  let members: Set<string> | null = null
  let children: Map<string, FieldSet> | null = null
  for (const [step, below] of fields.children) {
    const inside = typeBelow(type, step)
    if (inside === null) continue
    const isWhole = inside.kind === 'leaf'
    const next = isWhole ? emptySet : reconcileFields(inside, below)
    if (next === below) continue
    children ??= new Map(fields.children)
    if (isWhole) {
      members ??= new Set(fields.members)
      members.add(step)
      children.delete(step)
    } else children.set(step, next)
  }
  if (children === null) return fields
  return { members: members ?? fields.members, children }
}

/** Returns whether no path leads into a value that has one owner as a whole. */
function fits(type: MergeType, stored: JsonObject): boolean {
  if (type.kind !== 'struct' && type.kind !== 'keyed') return true
  for (const step in stored) {
    const below = stored[step]
    if (step === '.' || !isJsonObject(below)) continue
    const inside = typeBelow(type, step)
    if (inside === null) continue
    if (inside.kind !== 'leaf') {
      if (!fits(inside, below)) return false
      continue
    }
    for (const name in below) if (name !== '.') return false
  }
  return true
}

function typeBelow(type: Extract<MergeType, { kind: 'struct' | 'keyed' }>, step: string): MergeType | null {
  // An atomic element of a list has an owner through its key members too.
  if (type.kind === 'keyed') return resolved(type.items, {}).kind === 'leaf' ? null : type.items
  if (!step.startsWith('f:')) return leaf
  return type.member(step.slice(2)) ?? type.other
}

/**
 * Adds the declared members that paths of a set lead through.
 *
 * @source structured-merge-diff `fieldpath/set.go`, EnsureNamedFieldsAreMembers
 */
export function withDeclaredMembers(type: MergeType, fields: FieldSet): FieldSet {
  if (fields.children.size === 0) return fields
  const of = resolved(type, {})
  const draft = new Set(fields.members)
  const children = new Map<string, FieldSet>()
  for (const [step, below] of fields.children) {
    const declared = of.kind === 'struct' && step.startsWith('f:') ? of.member(step.slice(2)) : null
    if (declared !== null) draft.add(step)
    children.set(step, withDeclaredMembers(declared ?? insideOf(of), below))
  }
  return { members: draft, children }
}

function insideOf(type: ReturnType<typeof resolved>): MergeType {
  if (type.kind === 'struct') return type.other
  return type.kind === 'keyed' ? type.items : leaf
}
