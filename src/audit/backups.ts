import { formatMicroTime, parseTimeMs } from '../api/metadata/time.ts'

/**
 * Rotated logs are next to the current one: `audit.log` becomes
 * `audit-2026-01-02T03-04-05.678.log`, UTC.
 */

/**
 * Returns the name of a log that was rotated at a time.
 *
 * @param name of the log, without its directory
 * @param wallMs ms since 1970
 * @source the names that upstream's writer uses
 */
export function backupName(name: string, wallMs: number): string {
  const { stem, extension } = partsOf(name)
  const time = formatMicroTime(wallMs).slice(0, TIME_LENGTH).replaceAll(':', '-')
  return `${stem}-${time}${extension}`
}

/**
 * Returns the backups to delete.
 *
 * @param names of all files next to the log; other files are ignored
 * @param countMax 0: any number
 * @param ageMsMax 0: any age
 */
export function expiredBackups(
  name: string,
  names: readonly string[],
  of: { readonly countMax: number; readonly ageMsMax: number; readonly nowMs: number },
): readonly string[] {
  const backups = names
    .map((one) => ({ one, madeMs: backupTimeMs(name, one) }))
    .filter((backup): backup is { one: string; madeMs: number } => backup.madeMs !== null)
    .sort((a, b) => b.madeMs - a.madeMs)
  const isExpired = (madeMs: number, at: number): boolean =>
    (of.countMax > 0 && at >= of.countMax) || (of.ageMsMax > 0 && of.nowMs - madeMs > of.ageMsMax)
  return backups.filter(({ madeMs }, at) => isExpired(madeMs, at)).map(({ one }) => one)
}

/** Returns null for files that are not backups of this log. */
function backupTimeMs(name: string, other: string): number | null {
  const { stem, extension } = partsOf(name)
  if (!other.startsWith(`${stem}-`) || !other.endsWith(extension)) return null
  const time = other.slice(stem.length + 1, other.length - extension.length)
  const match = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(time)
  if (match === null) return null
  const [, date, hour, minute, second] = match
  return parseTimeMs(`${date}${hour}:${minute}:${second}Z`)
}

function partsOf(name: string): { readonly stem: string; readonly extension: string } {
  const dot = name.lastIndexOf('.')
  return dot === -1 ? { stem: name, extension: '' } : { stem: name.slice(0, dot), extension: name.slice(dot) }
}

/** Length of a time up to the millisecond. */
const TIME_LENGTH = '2026-01-02T03:04:05.678'.length
