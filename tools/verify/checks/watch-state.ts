import { versionText, watchText } from '../describe.ts'
import type { HistoryIndex } from '../history-index.ts'
import type { Version, Watch, WatchEvent } from '../history.ts'

/**
 * The objects that each watcher knows from its list and its events, used to check the type of each
 * event.
 */
export class WatchState {
  readonly #listed = new Map<number, readonly Version[]>()
  /** By watcher; null: unknown, without a recorded complete list or after a missed event. */
  readonly #objects = new Map<string, Map<string, Version> | null>()

  constructor({ history }: HistoryIndex) {
    for (const { request, answer } of history.calls) {
      const isComplete = request.kind === 'list' && request.limit === null
      if (isComplete && answer.kind === 'list') this.#listed.set(answer.revision, answer.versions)
    }
  }

  /**
   * Reports events whose type contradicts the known objects. Watches of one watcher must be passed
   * in order.
   *
   * @param isComplete the watch missed nothing
   */
  check(watch: Watch, isComplete: boolean, wrong: (event: WatchEvent, text: string) => void): void {
    if (!watch.resumed) this.#begin(watch)
    const objects = this.#objects.get(watch.watcher) ?? null
    if (objects === null) return
    if (!isComplete) {
      this.#objects.set(watch.watcher, null)
      return
    }
    for (const event of watch.events) {
      const { version, type } = event
      if (version === null) continue
      const text = contradictionOf(objects.get(version.name) ?? null, version, type)
      if (text !== null) wrong(event, `${watchText(watch)} sent ${type} of ${versionText(version)}${text}`)
      if (type === 'DELETED') objects.delete(version.name)
      else objects.set(version.name, version)
    }
  }

  #begin({ watcher, after }: Watch): void {
    const listed = this.#listed.get(after)
    const objects = listed === undefined ? null : new Map(listed.map((version) => [version.name, version]))
    this.#objects.set(watcher, objects)
  }
}

/** @returns what contradicts the event; null: nothing */
function contradictionOf(before: Version | null, version: Version, type: WatchEvent['type']): string | null {
  if (type === 'ADDED') return before === null ? null : `, which was there as version ${before.revision}`
  if (before === null) return ', which was not there'
  if (before.uid !== version.uid) return ', another object than the one that was there'
  if (type !== 'DELETED' || before.token === version.token) return null
  return `, which was there as version ${before.revision}`
}
