import type { StoreMachine } from './store-machine.ts'

/**
 * Removes the bytes of versions that history has trimmed from the files of the database. They stay
 * there for long otherwise, as LevelDB merges its files only when there are many.
 *
 * @returns false: not now, as the state is quarantined, the database is being closed, the versions
 *   are not removed on disk yet, or an open snapshot may show them
 * @throws DatabaseError
 */
export async function removeTrimmed(
  machine: Pick<StoreMachine, 'appliedMemory' | 'appliedDisk' | 'database' | 'flushed'>,
): Promise<boolean> {
  const index = machine.appliedMemory
  await machine.flushed()
  const { database } = machine
  return database !== null && machine.appliedDisk.index >= index && database.compact()
}
