import { readFileSync } from 'node:fs'

/** In a member's directory: what its hook does to it. Its presence means that the member runs with the hook. */
export const hookFile = 'chaos.json'

/** What a hook shall do, and until when at the latest: whoever asked for it may have been killed. */
export type HookFaults = {
  /** Each sync of the log takes that much longer. */
  readonly disk: { readonly delayMs: number; readonly untilMs: number } | null
  readonly clock: { readonly skewMs: number; readonly untilMs: number } | null
}

export const noHookFaults: HookFaults = Object.freeze({ disk: null, clock: null })

/** @param nowMs of the true wall clock @returns what holds now; no harm when the file is not there or means nothing */
export function readHookFaults(path: string, nowMs: number): HookFaults {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return noHookFaults
  }
  if (typeof value !== 'object' || value === null) return noHookFaults
  const { disk, clock } = value as Partial<HookFaults>
  const holds = <T extends { readonly untilMs: number }>(harm: T | null | undefined): T | null =>
    harm !== null && harm !== undefined && nowMs < harm.untilMs ? harm : null
  return { disk: holds(disk), clock: holds(clock) }
}
