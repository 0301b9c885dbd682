import type { Revision } from '../../store/revision.ts'

/** Measures what one watch sends. */
export type WatchObserver = {
  /**
   * Called when the connection took some events.
   * @param first revision of the oldest change among them; null: there was none, or the watch
   * ended first
   */
  readonly sent: (events: number, first: Revision | null) => void
}

/** The kind of a watch, as metrics name it. */
export type WatchedKind = { readonly group: string; readonly version: string; readonly kind: string }
