/** Why a member may give up, because of what was done to it. */
export type Impairment =
  'disk' | 'log-damaged' | 'log-wounded' | 'wiped' | 'database-damaged' | 'state-repaired'

/**
 * Of these a member does not recover: it may have lost its vote, and stays away. A wounded log may be repaired; until it
 * is, nobody can count on the member.
 */
export const permanentImpairments: readonly Impairment[] = ['log-damaged', 'log-wounded', 'wiped']

/** These heal: another member has the state. `state-repaired`: an operator had it set aside. */
export const stateImpairments: readonly Impairment[] = ['database-damaged', 'state-repaired']

/** With these a process may end by itself. */
export const exitImpairments: readonly Impairment[] = ['disk', 'log-damaged', 'log-wounded', 'wiped']
