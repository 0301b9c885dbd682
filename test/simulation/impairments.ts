/** Reasons for which a member may end, because of injected faults. */
export type Impairment =
  'disk' | 'log-damaged' | 'log-repairable' | 'wiped' | 'database-damaged' | 'state-repaired'

/**
 * With one of these a member may have lost its vote, and counts as lost. It stays down, except that
 * a repairable log may be repaired: then the member counts again.
 */
export const permanentImpairments: readonly Impairment[] = ['log-damaged', 'log-repairable', 'wiped']

/**
 * These heal, because other members have the state. `state-repaired`: an operator quarantined it.
 */
export const stateImpairments: readonly Impairment[] = ['database-damaged', 'state-repaired']

/** With these a process may end by itself. */
export const exitImpairments: readonly Impairment[] = ['disk', 'log-damaged', 'log-repairable', 'wiped']
