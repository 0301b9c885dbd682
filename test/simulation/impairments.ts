/** Reasons for which a member may end, because of injected faults. */
export type Impairment =
  'disk' | 'log-damaged' | 'log-repairable' | 'wiped' | 'database-damaged' | 'state-repaired'

/**
 * A member does not recover from these: it may have lost its vote, and stays down. A damaged log
 * may be repaired; until then the member does not count.
 */
export const permanentImpairments: readonly Impairment[] = ['log-damaged', 'log-repairable', 'wiped']

/** These heal: another member has the state. `state-repaired`: an operator quarantined it. */
export const stateImpairments: readonly Impairment[] = ['database-damaged', 'state-repaired']

/** With these a process may end by itself. */
export const exitImpairments: readonly Impairment[] = ['disk', 'log-damaged', 'log-repairable', 'wiped']
