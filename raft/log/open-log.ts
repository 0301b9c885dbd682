import { present } from '../../base/assert.ts'
import type { DamagedLog, LogActorOptions } from './log-actor.ts'
import type { LogSize } from './log-protocol.ts'
import { Wal } from './wal.ts'
import type { WalOptions } from './wal.ts'

/** The options of a log actor for a log on disk. */
export type OpenedLog = Pick<LogActorOptions, 'store'> & {
  readonly prepare: () => void
  readonly measure: () => LogSize
  /** To be called only once the log is intact or repaired. */
  readonly wal: () => Wal
}

/**
 * Opens the log of a member, intact or damaged.
 *
 * @throws LogError when the log cannot be repaired
 */
export function openLog(options: WalOptions): OpenedLog {
  const opened = Wal.openOrSalvage(options)
  let wal = opened instanceof Wal ? opened : null
  const repaired: DamagedLog['repaired'] = (repair) => {
    if (opened instanceof Wal) return opened
    wal = Wal.openRepaired(options, opened, repair)
    return wal
  }
  return {
    store: opened instanceof Wal ? opened : { log: opened, repaired },
    prepare: () => wal?.prepare(),
    wal: () => present(wal, 'the log is whole'),
    measure: () => wal?.size ?? { segments: 0, bytes: 0 },
  }
}
