/**
 * The target: a member by its id, or the leader at that time (else the member). Another one
 * replaces a former or future member.
 */
export type Target = { readonly member: number; readonly preferLeader: boolean }
