import { featureLevelMax as newest, programVersion } from '../../version.ts'
import { DatabaseError } from '../store-errors.ts'

/** Since this level object sizes and the storage quota are checked at apply. */
export const storageRulesLevel = 2

/**
 * Since this level apply maintains Member objects, and a configuration may record which member a
 * new member replaces, and when a member was added.
 */
export const memberObjectsLevel = 3

/**
 * Since this level a write may depend on the version of another object, so objects may define
 * kinds.
 */
export const customKindsLevel = 3

/**
 * Since this level the signing authorities that members share may include one that does not sign
 * yet. An earlier program would sign with it.
 */
export const nextAuthorityLevel = 3

/**
 * Since this level a committed command that cannot be decoded has no effect. So a command that a
 * later level adds may be proposed only once the cluster is at that level: an earlier program would
 * skip it.
 */
export const unreadableCommandsLevel = 3

/** Returns why a request is refused that members of the present level may not support. */
export function needsLevel(what: string, neededLevel: number, clusterLevel: number): string {
  return (
    `${what} needs feature level ${neededLevel}, the cluster is at ${clusterLevel}: ` +
    'the level rises once every member runs a program that supports it, none held back by --feature-level-max'
  )
}

/**
 * Returns the error of a member that does not support the feature level of the cluster, and
 * therefore must not apply anything.
 *
 * @param featureLevelMax the highest level of the member: less than `newest` if its operator limits
 * it
 */
export function tooNew(level: number, featureLevelMax: number): DatabaseError {
  const remedy =
    level <= newest
      ? `this member is held back at ${featureLevelMax}: start it without --feature-level-max`
      : `this program, version ${programVersion}, knows ${newest}: start the version that the other members run`
  return new DatabaseError('unsupported', `the cluster is at feature level ${level}, ${remedy}`)
}
