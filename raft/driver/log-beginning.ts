import type { RecoveredLog } from '../ports.ts'

/** Whether the log contains the configuration that it began with, or a later one as its base. */
export function hasConfiguration({ base }: Pick<RecoveredLog, 'base'>): boolean {
  return base.index > 0 || base.configuration.members.length > 0
}

/** Whether entries are left of a log whose first configuration could not be repaired. */
export function lostBeginning(recovered: Pick<RecoveredLog, 'base' | 'lastIndex'>): boolean {
  return recovered.lastIndex > 0 && !hasConfiguration(recovered)
}
