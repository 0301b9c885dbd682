import type { Logger } from 'pino'
import type { ObjectStore } from '../store/object-store.ts'

export type StorageAlarmDependencies = {
  readonly store: Pick<ObjectStore, 'storage'>
  readonly onApplied: (listener: () => void) => () => void
  readonly log: Pick<Logger, 'warn' | 'info'>
}

const placesLogged = 5

/**
 * Logs when the storage quota is used up and when it no longer is, once for each change. The member
 * stays ready: it serves as well as any other, and reads, deletions and watches continue.
 *
 * @returns a function that stops the logging
 */
export function logStorageAlarm({ store, onApplied, log }: StorageAlarmDependencies): () => void {
  let reported = false
  const look = (): void => {
    const { alarm, usedBytes, bytesMax, largestPlaces } = store.storage
    if (alarm === reported) return
    reported = alarm
    const fields = { usedBytes, bytesMax, largest: largestPlaces().slice(0, placesLogged) }
    if (alarm) log.warn(fields, 'the storage quota is used up: only writes that free space are accepted')
    else log.info(fields, 'the storage is below its quota again')
  }
  look()
  return onApplied(look)
}
