import type { JsonObject } from '../json.ts'

/** Any API object, with the members that all kinds share. */
export type ApiObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** Spec 2.1, and the upstream fields that it omits. Absent and empty are equivalent. */
export type ObjectMeta = {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly selfLink?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  /** RFC 3339, whole seconds, UTC. */
  readonly creationTimestamp?: string | null
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: { readonly [key: string]: string }
  readonly annotations?: { readonly [key: string]: string }
  readonly ownerReferences?: readonly JsonObject[]
  readonly finalizers?: readonly string[]
  readonly managedFields?: readonly JsonObject[]
}

/** The authenticated user. */
export type UserInfo = {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: { readonly [key: string]: readonly string[] }
}
