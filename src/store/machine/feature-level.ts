import { featureLevelMax as newest, programVersion } from '../../version.ts'
import { DatabaseError } from '../store-errors.ts'

/** From here on the size of objects and the storage quota are decided at apply. */
export const storageRulesLevel = 2

/**
 * From here on apply shows the members as objects, and a configuration may say whom a member
 * replaces and since when.
 */
export const memberObjectsLevel = 3

/**
 * From here on a write may rest on the version of another object, so kinds may be defined by
 * objects.
 */
export const customKindsLevel = 3

/**
 * From here on a committed command that cannot be decoded does nothing. So a command that a later
 * level adds may be proposed only once the cluster is at that level: an earlier program would pass
 * it over.
 */
export const unreadableCommandsLevel = 3

/**
 * This member may not decide by the cluster's rules, so it must not decide at all.
 *
 * @param featureLevelMax what it may decide by: less than `newest` where its operator holds it back
 */
export function tooNew(level: number, featureLevelMax: number): DatabaseError {
  const remedy =
    level <= newest
      ? `this member is held back at ${featureLevelMax}: start it without --feature-level-max`
      : `this program, version ${programVersion}, knows ${newest}: start the version that the other members run`
  return new DatabaseError('unsupported', `the cluster is at feature level ${level}, ${remedy}`)
}
