import { StoreError } from './store-errors.ts'
import type { Version } from './machine/object-version.ts'
import type { Revision } from './revision.ts'
import type { StoreMachine } from './store-machine.ts'

/**
 * Reads superseded versions from disk.
 *
 * @param options `since`: the versions are needed by readers of the state at this revision, or of
 * the events after it
 * @returns null when a snapshot was installed in between: look them up again
 * @throws StoreError `compacted`, `quarantined`; DatabaseError
 */
export async function resolveVersions(
  machine: StoreMachine,
  wanted: readonly Revision[],
  options: { readonly since: Revision; readonly atOnce: number },
): Promise<ReadonlyMap<Revision, Version> | null> {
  const { state } = machine
  const found = new Map<Revision, Version>()
  for (let from = 0; from < wanted.length; from += options.atOnce) {
    const some = wanted.slice(from, from + options.atOnce)
    const versions = await machine.readVersions(some)
    if (machine.state !== state) return null
    for (const [at, version] of versions.entries()) {
      const requested = some[at]
      if (requested === undefined) continue
      if (version !== null) found.set(requested, version)
      else if (options.since < state.history.trimmed)
        throw compactedError(options.since, state.history.trimmed)
      else throw machine.damaged(`the version ${requested} is missing on disk`)
    }
  }
  return found
}

export function compactedError(requested: Revision, trimmed: Revision): StoreError {
  const words = `revision ${requested} is older than the history kept: versions after ${trimmed} are kept`
  return new StoreError('compacted', words)
}
