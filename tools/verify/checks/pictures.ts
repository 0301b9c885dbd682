import { versionWords, watchWords } from '../describe.ts'
import type { Evidence } from '../evidence.ts'
import type { Version, Watch, WatchEvent } from '../history.ts'

/** What each watcher would hold, had it kept what it was told: by it every change shows as what it was. */
export class Pictures {
  readonly #listed = new Map<number, readonly Version[]>()
  /** By watcher; null: it missed something and knows no longer what is there. */
  readonly #held = new Map<string, Map<string, Version> | null>()

  constructor({ history }: Evidence) {
    for (const { request, answer } of history.calls) {
      const isWhole = request.kind === 'list' && request.limit === null
      if (isWhole && answer.kind === 'list') this.#listed.set(answer.revision, answer.versions)
    }
  }

  /** Watches of one watcher come in the order in which it made them. @param isWhole nothing was left out */
  check(watch: Watch, isWhole: boolean, wrong: (event: WatchEvent, text: string) => void): void {
    if (!watch.resumed) this.#begin(watch)
    const held = this.#held.get(watch.watcher) ?? null
    if (held === null) return
    if (!isWhole) {
      this.#held.set(watch.watcher, null)
      return
    }
    for (const event of watch.events) {
      const { version, type } = event
      if (version === null) continue
      const text = wrongBy(held.get(version.name) ?? null, version, type)
      if (text !== null) wrong(event, `${watchWords(watch)} told ${type} of ${versionWords(version)}${text}`)
      if (type === 'DELETED') held.delete(version.name)
      else held.set(version.name, version)
    }
  }

  #begin({ watcher, after }: Watch): void {
    const listed = this.#listed.get(after)
    const held = listed === undefined ? null : new Map(listed.map((version) => [version.name, version]))
    this.#held.set(watcher, held)
  }
}

/** @returns what contradicts it; null: nothing */
function wrongBy(before: Version | null, version: Version, type: WatchEvent['type']): string | null {
  if (type === 'ADDED') return before === null ? null : `, which was there as version ${before.revision}`
  if (before === null) return ', which was not there'
  if (before.uid !== version.uid) return ', another object than the one that was there'
  if (type !== 'DELETED' || before.token === version.token) return null
  return `, which was there as version ${before.revision}`
}
