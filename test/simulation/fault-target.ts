/**
 * The target of a fault: this member, or with `preferLeader` the leader at that time, if there is
 * one. If this member does not exist at that time, another one takes its place.
 */
export type Target = { readonly member: number; readonly preferLeader: boolean }
