import type { Consensus } from '../../../raft/index.ts'
import { whileLeading } from '../../controllers/leadership.ts'
import type { Leadership } from '../../controllers/leadership.ts'
import type { Outcome } from '../../store/command.ts'

/**
 * Runs work while this member leads.
 * @returns a function that stops it
 */
export function working(consensus: Consensus<Outcome>, worker: { start(): void; stop(): void }): () => void {
  const work = { start: () => worker.start(), stop: () => worker.stop() }
  return whileLeading(leadershipOf(consensus), work)
}

function leadershipOf(consensus: Consensus<Outcome>): Leadership {
  return {
    get leading() {
      return consensus.status.role === 'leader'
    },
    onChange: (listener) => consensus.onStatus(listener),
  }
}
