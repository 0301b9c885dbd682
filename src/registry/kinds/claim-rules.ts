import type { Random } from '../../../base/random.ts'
import type { JsonObject } from '../../api/json.ts'
import type { ApiObject } from '../../api/metadata/object.ts'

type AnyObject = ApiObject & JsonObject

/**
 * Rules of values that at most one object of the cluster has, such as the cluster IPs of Services.
 * Each value of a stored object is claimed by a small record, which the command of the write
 * creates on the condition that it is absent: so two writers never get the same value.
 */
export type ClaimRules = {
  /** The plural under which the records are stored, in the group `internal`. */
  readonly plural: string
  /** Returns the values of an object, each once. Pure. */
  readonly valuesOf: (object: AnyObject) => readonly ClaimedValue[]
  /**
   * Returns the object with the values that the server picks.
   *
   * @param current null: the object is new @throws ApiError a named value is taken or not allowed,
   *   or none is free
   */
  readonly assign: (object: AnyObject, current: AnyObject | null, context: AssignContext) => AnyObject
}

export type ClaimedValue = {
  /** Equal values in different sets are different claims. Without slashes, like `value`. */
  readonly set: string
  /** In canonical form. */
  readonly value: string
}

export type AssignContext = {
  /** Returns whether another object has the value. */
  readonly isTaken: (value: ClaimedValue) => boolean
  readonly random: Random
}
