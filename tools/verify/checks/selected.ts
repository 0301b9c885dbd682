import { ofEvent, ofWatch, versionWords, watchWords } from '../describe.ts'
import type { Change, Evidence } from '../evidence.ts'
import { equalVersions } from '../evidence.ts'
import type { AnomalyKind, Witness } from '../finding.ts'
import type { Version, Watch, WatchEvent } from '../history.ts'
import { sideOf } from '../sides.ts'
import type { Side } from '../sides.ts'

/** Revisions of which some watch of everything told all changes, `from` not included. */
export type Stretch = {
  readonly from: number
  readonly upTo: number
  /** Everything that was there at `from` is known too. */
  readonly listed: boolean
}

/** @param whole watches of everything that left nothing out */
export function stretchesOf(whole: readonly Watch[]): readonly Stretch[] {
  const each = whole.map(({ after, events, resumed }) => {
    return { from: after, upTo: Math.max(after, ...events.map((event) => event.revision)), listed: !resumed }
  })
  each.sort((a, b) => a.from - b.from || Number(b.listed) - Number(a.listed))
  const stretches: Stretch[] = []
  for (const one of each) {
    const last = stretches.at(-1)
    if (last === undefined || one.from > last.upTo) stretches.push(one)
    else stretches[stretches.length - 1] = { ...last, upTo: Math.max(last.upTo, one.upTo) }
  }
  return stretches
}

/** What contradicts a watch of one side. */
export type SelectedFault = {
  readonly kind: AnomalyKind
  readonly text: string
  readonly object: string
  readonly witnesses: readonly Witness[]
}

/**
 * Filtered: a change within the selection is MODIFIED, one into it ADDED, one out of it DELETED, with the object as it last
 * belonged; what was and is outside is not told. Judged is only where it is known for certain what was there before.
 *
 * @param side what the watch selects
 * @returns what it told wrongly or left out, and how many changes were looked at
 */
export function selectedFaults(
  watch: Watch,
  side: Side,
  known: {
    readonly evidence: Evidence
    readonly stretches: readonly Stretch[]
    readonly changes: readonly Change[]
  },
): { readonly faults: readonly SelectedFault[]; readonly examined: number } {
  const told = new Map<number, WatchEvent>()
  for (const event of watch.events) if (event.version !== null) told.set(event.revision, event)
  const upTo = Math.max(watch.after, ...watch.events.map(({ revision }) => revision))
  const faults: SelectedFault[] = []
  let examined = 0
  for (const change of known.changes) {
    if (change.revision <= watch.after) continue
    if (change.revision > upTo) break
    const before = known.evidence.lastUpTo(change.version.name, change.revision - 1)
    if (!isCertain(change, before, known.stretches)) continue
    examined++
    const wanted = wantedOf(change, before, side)
    const event = told.get(change.revision)
    const fault = faultOf(watch, change, wanted, event ?? null)
    if (fault !== null) faults.push(fault)
  }
  const real = new Set(known.changes.map(({ revision }) => revision))
  for (const event of told.values()) {
    const { revision, version } = event
    if (version === null || real.has(revision) || stretchAt(revision, known.stretches) === null) continue
    const text = `${watchWords(watch)} told ${event.type} of ${versionWords(version)}, where nothing changed`
    faults.push({
      kind: 'wrong-event',
      text,
      object: version.name,
      witnesses: [ofWatch(watch), ofEvent(watch, event)],
    })
  }
  return { faults, examined }
}

type Wanted = { readonly type: WatchEvent['type']; readonly version: Version } | null

/** null: it does not concern the selection. */
function wantedOf(change: Change, before: Change | null, side: Side): Wanted {
  const was = before !== null && !before.deleted && sideOf(before.version.token) === side
  const is = !change.deleted && sideOf(change.version.token) === side
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', version: change.version }
  // As it last belonged, at the revision at which it left.
  return was ? { type: 'DELETED', version: { ...before.version, revision: change.revision } } : null
}

function faultOf(
  watch: Watch,
  change: Change,
  wanted: Wanted,
  event: WatchEvent | null,
): SelectedFault | null {
  const object = change.version.name
  if (wanted === null) {
    if (event === null) return null
    const text = `${watchWords(watch)} told ${event.type} of ${object} at ${change.revision}, which it does not select`
    return { kind: 'wrong-event', text, object, witnesses: [ofWatch(watch), ofEvent(watch, event)] }
  }
  const should = `${wanted.type} of ${versionWords(wanted.version)}`
  const told = event?.version ?? null
  if (event === null || told === null) {
    const text = `${watchWords(watch)} never told ${should}, which it selects, and went on`
    const behind = watch.events.find(({ revision }) => revision > change.revision)
    const witnesses = [ofWatch(watch), ...(behind === undefined ? [] : [ofEvent(watch, behind)])]
    return { kind: 'dropped-event', text, object, witnesses }
  }
  const { type, version } = wanted
  // Of what left, whoever selects sees the content it had, which no other answer shows under this revision.
  const isSame = type === 'DELETED' ? told.token === version.token : equalVersions(told, version)
  if (event.type === type && isSame) return null
  const text = `${watchWords(watch)} told ${event.type} of ${versionWords(told)} instead of ${should}`
  return { kind: 'wrong-event', text, object, witnesses: [ofWatch(watch), ofEvent(watch, event)] }
}

/** What was there before is known: nothing can have happened in between that nobody was told. */
function isCertain(change: Change, before: Change | null, stretches: readonly Stretch[]): boolean {
  const stretch = stretchAt(change.revision, stretches)
  if (stretch === null) return false
  return before === null ? stretch.listed : before.revision >= stretch.from
}

function stretchAt(revision: number, stretches: readonly Stretch[]): Stretch | null {
  return stretches.find(({ from, upTo }) => from < revision && revision <= upTo) ?? null
}
