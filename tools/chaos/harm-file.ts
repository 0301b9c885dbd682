import { readFileSync } from 'node:fs'

/** In a member's directory: what its hook does to it. Its presence means that the member runs with the hook. */
export const harmFile = 'chaos.json'

/** What a hook shall do, and until when at the latest: whoever asked for it may have been killed. */
export type MemberHarm = {
  /** Each sync of the log takes that much longer. */
  readonly disk: { readonly delayMs: number; readonly untilMs: number } | null
  readonly clock: { readonly skewMs: number; readonly untilMs: number } | null
}

export const noHarm: MemberHarm = Object.freeze({ disk: null, clock: null })

/** @param nowMs of the true wall clock @returns what holds now; no harm when the file is not there or means nothing */
export function readHarm(path: string, nowMs: number): MemberHarm {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return noHarm
  }
  if (typeof value !== 'object' || value === null) return noHarm
  const { disk, clock } = value as Partial<MemberHarm>
  const holds = <T extends { readonly untilMs: number }>(harm: T | null | undefined): T | null =>
    harm !== null && harm !== undefined && nowMs < harm.untilMs ? harm : null
  return { disk: holds(disk), clock: holds(clock) }
}
