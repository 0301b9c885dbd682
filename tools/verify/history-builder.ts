import { assertNever } from '../../base/assert.ts'
import { VerifyError } from './errors.ts'
import type { Call, Copy, History, RunFacts, Watch } from './history.ts'
import { historyFormat } from './history-lines.ts'
import type { Line } from './history-lines.ts'
import { verifyLimits } from './limits.ts'

/** Builds a history from the lines of a recording. @throws VerifyError `history`, `too-long` */
export class HistoryBuilder {
  readonly #calls: Call[] = []
  readonly #watches = new Map<number, Watch>()
  readonly #copies: Copy[] = []
  #facts: RunFacts | null = null
  #lastRevision: number | null = null
  #endedMs = 0
  #records = 0
  #shown = 0

  /** Whether the first line was a valid header. */
  get hasFacts(): boolean {
    return this.#facts !== null
  }

  add(line: Line): void {
    if (this.#facts === null && line.line !== 'run') throw wrong('it does not begin with the header of a run')
    switch (line.line) {
      case 'run': {
        if (line.format !== historyFormat) {
          throw wrong(`it is in format ${line.format}, this program reads format ${historyFormat}`)
        }
        const { seed, namespace, members, startedMs } = line
        this.#facts = { seed, namespace, members, startedMs }
        return
      }
      case 'call':
        this.#count(line.answer.kind === 'list' ? line.answer.versions.length : 1)
        this.#calls.push(line)
        this.#endedMs = Math.max(this.#endedMs, line.endMs)
        return
      case 'watch':
        this.#count(1)
        this.#watches.set(line.id, { ...line, events: [], end: '' })
        return
      case 'event':
        this.#count(1)
        this.#watch(line.watch).events.push(line)
        return
      case 'watch-end':
        this.#watch(line.watch).end = line.why
        return
      case 'copy':
        this.#copies.push(line)
        return
      case 'end':
        this.#lastRevision = line.lastRevision
        this.#endedMs = line.endedMs
        return
      default:
        assertNever(line)
    }
  }

  history(): History {
    if (this.#facts === null) throw wrong('it is empty')
    return {
      facts: this.#facts,
      calls: this.#calls,
      watches: [...this.#watches.values()],
      copies: this.#copies,
      lastRevision: this.#lastRevision,
      endedMs: this.#endedMs,
    }
  }

  #watch(id: number): Watch {
    const watch = this.#watches.get(id)
    if (watch === undefined) throw wrong(`watch ${id} has no beginning`)
    return watch
  }

  #count(shown: number): void {
    this.#records++
    this.#shown += shown
    if (this.#records <= verifyLimits.recordsMax && this.#shown <= verifyLimits.shownMax) return
    throw new VerifyError(
      'too-long',
      `the history has more than ${verifyLimits.recordsMax} records or shows more than ${verifyLimits.shownMax} objects: ` +
        'record for a shorter time, at a lower rate, or with fewer objects',
    )
  }
}

function wrong(why: string): VerifyError {
  return new VerifyError('history', why)
}
