import type { RecoveredLog } from '../ports.ts'

/** Returns whether the base of the log has a configuration, the first one or a later one. */
export function hasConfiguration({ base }: Pick<RecoveredLog, 'base'>): boolean {
  return base.index > 0 || base.configuration.members.length > 0
}

/** Returns whether entries are left of a log whose first configuration could not be repaired. */
export function lostBeginning(recovered: Pick<RecoveredLog, 'base' | 'lastIndex'>): boolean {
  return recovered.lastIndex > 0 && !hasConfiguration(recovered)
}
