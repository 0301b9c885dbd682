/** Why a member may give up, because of what was done to it. */
export type Impairment =
  'disk' | 'log-damaged' | 'log-wounded' | 'wiped' | 'database-damaged' | 'state-repaired'

/**
 * A member does not recover from these: it may have lost its vote, and stays down. A wounded log
 * may be repaired; until then the member does not count.
 */
export const permanentImpairments: readonly Impairment[] = ['log-damaged', 'log-wounded', 'wiped']

/** These heal: another member has the state. `state-repaired`: an operator had it set aside. */
export const stateImpairments: readonly Impairment[] = ['database-damaged', 'state-repaired']

/** With these a process may end by itself. */
export const exitImpairments: readonly Impairment[] = ['disk', 'log-damaged', 'log-wounded', 'wiped']
