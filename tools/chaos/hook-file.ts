import { readFileSync } from 'node:fs'

/**
 * The file, in the directory of a member, that contains the faults of its hook. Its presence means
 * that the member runs with the hook.
 */
export const hookFile = 'chaos.json'

/** Faults of the hook, each with an end time in case the process that injects them is killed. */
export type HookFaults = {
  /** Additional duration of each sync of the log. */
  readonly disk: { readonly delayMs: number; readonly untilMs: number } | null
  readonly clock: { readonly skewMs: number; readonly untilMs: number } | null
}

export const noHookFaults: HookFaults = Object.freeze({ disk: null, clock: null })

/**
 * @param nowMs of the unmodified wall clock
 * @returns the active faults; none when the file is absent or malformed
 */
export function readHookFaults(path: string, nowMs: number): HookFaults {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return noHookFaults
  }
  if (typeof value !== 'object' || value === null) return noHookFaults
  const { disk, clock } = value as Partial<HookFaults>
  const holds = <T extends { readonly untilMs: number }>(fault: T | null | undefined): T | null =>
    fault !== null && fault !== undefined && nowMs < fault.untilMs ? fault : null
  return { disk: holds(disk), clock: holds(clock) }
}
