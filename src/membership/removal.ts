import type { Consensus } from '../../raft/index.ts'
import type { Config } from '../config/config.ts'

/** What the log says of it. */
export const removedMessage = 'removed from the cluster'

/** Of a member that belongs to its cluster no more: whoever starts it again will read the same. */
export const removedExitCode = 3

/** Resolves once this member knows that it belongs to its cluster no more: why, and what to do. */
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
