import type { Configuration, Entry, HardState, LogIndex, SnapshotMeta } from '../core/types.ts'
import { logIndex } from '../core/types.ts'
import type { EntryId } from './intact-run.ts'

/*
 * Decides whether a damaged log may be repaired. The damaged part may have contained entries,
 * terms, votes and bases. A repair is safe if each of them is known to be replaced or available
 * elsewhere:
 *
 *   |-- before: intact --|-- damaged --|--- after: intact, to the end of the log --|
 *              known ^                  ^ first                            last ^
 *
 * - Terms and votes: only the last hard state counts. It follows the damage, so no vote is lost.
 * - Entries at or above `first`: an entry replaces everything at its index and above. So the
 *   entries after the damage are complete.
 * - Entries up to `known` were committed before the damage, so nothing in it replaced them.
 * - Entries between: the database of this member has their effects (`covered`), or a peer has the
 *   entries. A peer that has committed the entry `anchor`, of the same index and term, has the same
 *   entries before it: Raft's log matching.
 * - A base in the damage only compacted the log further, which is not needed. A database that was
 *   installed with it is newer than `base`; the owner checks for that (see `hasNewerDatabase`).
 *
 * Damage of the last write is never repaired, because no later write shows what it contained.
 */

/** The known state of a damaged log. */
export type LogDamage = {
  /** The latest intact base. */
  readonly base: SnapshotMeta
  /** The index of the first intact entry before the damage; without one, `first`. */
  readonly knownFirst: LogIndex
  /** The highest index before the damage that is known to be committed; 0: not known. */
  readonly known: LogIndex
  /** The lowest index of an entry after the damage, or the next index without one. */
  readonly first: LogIndex
  /** The entry at `first`; without entries after the damage, the last entry of the log. */
  readonly anchor: EntryId
  /** The last entry of the log. */
  readonly last: EntryId
  readonly hardState: HardState
  /** The latest intact configuration: it names the peers, but may not be the one in force. */
  readonly configuration: Configuration
}

export type LogRepairPlan =
  /** No entry above `base` is missing: the log can be rewritten. */
  | { readonly kind: 'rewrite'; readonly base: SnapshotMeta }
  /** The entries from `first` to the one before `damage.first` are missing. */
  | { readonly kind: 'fetch'; readonly base: SnapshotMeta; readonly first: LogIndex }
  | { readonly kind: 'refuse'; readonly reason: string }

/**
 * Returns how to repair a damaged log, or why it cannot be repaired.
 *
 * @param covered the snapshot metadata of this member's database; null: not known
 */
export function planLogRepair(damage: LogDamage, covered: SnapshotMeta | null): LogRepairPlan {
  const base = baseOf(damage, covered)
  if (damage.hardState.term < damage.last.term)
    return refuse('its last hard state has an older term than its last entry')
  if (damage.hardState.commit > damage.last.index) return refuse('it ends before the known commit index')
  if (base.index > damage.last.index) return refuse('it ends before what the database holds')
  if (base.index > 0 && base.configuration.members.length === 0) {
    return refuse('the configuration that it began with is lost')
  }
  const joins = damage.knownFirst <= base.index + 1
  const have = Math.max(base.index, joins ? damage.known : 0)
  if (have + 1 >= damage.first) return { kind: 'rewrite', base }
  return { kind: 'fetch', base, first: logIndex(have + 1) }
}

/**
 * Returns the base of the repaired log: that of the damaged log, or the snapshot metadata of the
 * database if its index is higher.
 */
function baseOf({ base }: LogDamage, covered: SnapshotMeta | null): SnapshotMeta {
  if (covered === null || covered.index <= base.index) return base
  // Until the state machine has applied a configuration entry, the first configuration of the log
  // is in force.
  return covered.configuration.members.length > 0
    ? covered
    : { ...covered, configuration: base.configuration }
}

/**
 * Checks the entries that a peer sent for a `fetch`.
 *
 * @param entries consecutive, from `first` up to the anchor
 * @returns why they are not the missing entries; null when they are
 */
export function checkFetched(anchor: EntryId, first: LogIndex, entries: readonly Entry[]): string | null {
  let term = 0
  for (const [at, entry] of entries.entries()) {
    if (entry.index !== first + at) return `entry ${entry.index} in the place of ${first + at}`
    if (entry.term < term) return `entry ${entry.index} is of an older term than the one before it`
    term = entry.term
  }
  const last = entries.at(-1)
  if (last?.index !== anchor.index) return `entries up to ${last?.index ?? 0} instead of ${anchor.index}`
  if (last.term !== anchor.term) {
    return `entry ${last.index} is of term ${last.term}, in this log it is of term ${anchor.term}`
  }
  return null
}

function refuse(reason: string): LogRepairPlan {
  return { kind: 'refuse', reason }
}
