import type { Configuration, Entry, HardState, LogIndex, SnapshotMeta } from '../core/types.ts'
import { logIndex } from '../core/types.ts'
import type { EntryId } from './intact-run.ts'

/*
 * When a damaged log may be repaired. The damage may have swallowed entries, terms, votes and
 * bases. The log is as good as it was when each of them is known to be replaced or held elsewhere:
 *
 *   |-- before: intact --|-- damaged --|-- behind: intact, to the end of the log --|
 *              known ^                  ^ first                            last ^
 *
 * - Terms and votes: the last hard state counts. Behind the damage there is one, so no vote is
 *   lost.
 * - Entries at or above `first`: an entry replaces whatever was at its index and above. So those
 *   behind are all there are.
 * - Entries up to `known` were committed before the damage, so nothing in it replaced them.
 * - Entries between: committed and held by this member's database, as their effects (`covered`), or
 *   by peers. A peer that has committed the entry `anchor`, of the same index and term, has the
 *   same entries before it: Raft's log matching.
 * - A base in the damage only moved the beginning of the log up, which is not needed; a database
 *   that was installed with it is newer than `base`, which its owner looks for (see
 *   `refuseNewerDatabase`).
 *
 * The last write is never repaired, as nothing behind it says what it was.
 */

/** What is known of a damaged log. */
export type LogDamage = {
  /** The latest base that is intact. */
  readonly base: SnapshotMeta
  /** The entries of `before` begin with this index. */
  readonly knownFirst: LogIndex
  /** The highest index before the damage that was committed then; at least that of the base. */
  readonly known: LogIndex
  /** The lowest index of an entry behind the damage, or the next one when there is none. */
  readonly first: LogIndex
  /** The lowest entry at or above `first - 1` whose term is known. */
  readonly anchor: EntryId
  readonly last: EntryId
  readonly hardState: HardState
  /** The latest that is intact: says where peers are, not who counts. */
  readonly configuration: Configuration
}

export type LogRepairPlan =
  /** All is here: the log behind `base` can be written anew. */
  | { readonly kind: 'rewrite'; readonly base: SnapshotMeta }
  /** Entries from `first` on are missing up to the one before `wound.first`. */
  | { readonly kind: 'fetch'; readonly base: SnapshotMeta; readonly first: LogIndex }
  | { readonly kind: 'refuse'; readonly reason: string }

/** @param covered what this member's own database durably holds; null: not known */
export function planLogRepair(damage: LogDamage, covered: SnapshotMeta | null): LogRepairPlan {
  const base = baseOf(damage, covered)
  if (damage.hardState.term < damage.last.term) return refuse('its last term is older than its last entry')
  if (damage.hardState.commit > damage.last.index) return refuse('what was known committed is not in it')
  if (base.index > damage.last.index) return refuse('it ends before what the database holds')
  if (base.index > 0 && base.configuration.members.length === 0) {
    return refuse('the configuration that it began with is lost')
  }
  const joins = damage.knownFirst <= base.index + 1
  const have = Math.max(base.index, joins ? damage.known : 0)
  if (have + 1 >= damage.first) return { kind: 'rewrite', base }
  return { kind: 'fetch', base, first: logIndex(have + 1) }
}

/** Compaction could have moved the base there at any time: the database has everything below. */
function baseOf({ base }: LogDamage, covered: SnapshotMeta | null): SnapshotMeta {
  if (covered === null || covered.index <= base.index) return base
  // A state machine that saw no configuration entry yet is still under the one the log began with.
  return covered.configuration.members.length > 0
    ? covered
    : { ...covered, configuration: base.configuration }
}

/**
 * Judges what a peer sent for a `fetch`.
 *
 * @param entries consecutive, from `first` up to the anchor
 * @returns why they are not the missing ones; null when they are
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
