import type { Consensus } from '../../raft/index.ts'
import type { Config } from '../config/config.ts'

/** The log message of a removed member. */
export const removedMessage = 'removed from the cluster'

/** Exit code of a member that was removed from its cluster; a restart ends with the same code. */
export const removedExitCode = 3

/** Resolves once this member has been removed from its cluster, with the reason and the remedy. */
export function removal(
  config: Pick<Config, 'name' | 'data-dir'>,
  consensus: Pick<Consensus<never>, 'status' | 'onStatus'>,
): Promise<string> {
  return new Promise((resolve) => {
    const look = (): void => {
      const { removed } = consensus.status
      if (removed === null) return
      stopListening()
      const how = `data directory ${config['data-dir']}; orchctl member add ${config.name} makes a token`
      resolve(`${removed} (${how})`)
    }
    const stopListening = consensus.onStatus(look)
    look()
  })
}
