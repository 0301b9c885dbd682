import { assert } from '../../base/assert.ts'
import { isRecord } from '../../base/record.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'

/**
 * Clock and source of randomness of a thread. They cannot be sent to a thread, so the thread gets
 * the URL of a module that exports them under the name `threadHost`.
 */
export type ThreadHost = { readonly clock: Clock; readonly random: Random }

/** @param url of a module of this program */
export async function loadThreadHost(url: string): Promise<ThreadHost> {
  const loaded: unknown = await import(url)
  assert(exportsThreadHost(loaded), `${url} exports threadHost`)
  return loaded.threadHost
}

/** @param url of a module of this program that exports `isCommand`; see `RaftActorOptions` */
export async function loadIsCommand(url: string): Promise<(payload: Uint8Array) => boolean> {
  const loaded: unknown = await import(url)
  assert(exportsIsCommand(loaded), `${url} exports isCommand`)
  return loaded.isCommand
}

function exportsIsCommand(value: unknown): value is { readonly isCommand: (payload: Uint8Array) => boolean } {
  return isRecord(value) && typeof value['isCommand'] === 'function'
}

function exportsThreadHost(value: unknown): value is { readonly threadHost: ThreadHost } {
  if (typeof value !== 'object' || value === null || !('threadHost' in value)) return false
  const { threadHost } = value
  return (
    typeof threadHost === 'object' && threadHost !== null && 'clock' in threadHost && 'random' in threadHost
  )
}
