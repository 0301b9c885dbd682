import { assertNever } from '../../raft/base/assert.ts'
import { between } from './links/rules.ts'
import type { LinkRule } from './links/rules.ts'
import type { Harm } from './fault.ts'
import type { ChaosTarget } from './target.ts'

/** A fault that is being done. */
export type Strike = {
  readonly harm: Harm
  /** One, or those of a partition, or all. */
  readonly victims: readonly string[]
  readonly forMs: number
}

/** Directions that are harmed while it lasts. */
export function rulesOf({ harm, victims }: Strike, members: readonly string[]): readonly LinkRule[] {
  const others = members.filter((member) => !victims.includes(member))
  switch (harm.kind) {
    case 'partition':
      return between(victims, others, { cut: true })
    case 'cut':
      return between(victims, others, { cut: true }, harm.direction)
    case 'slow-link':
      return between(victims, others, { delayMs: harm.delayMs })
    case 'lossy-link':
      return between(victims, others, { lossPercent: harm.lossPercent })
    default:
      return []
  }
}

/** Does it, but for links, rolling restarts and new members, which are the runner's. */
export async function begin({ harm, victims, forMs }: Strike, target: ChaosTarget): Promise<void> {
  for (const victim of victims) {
    switch (harm.kind) {
      case 'kill':
      case 'outage':
        target.end(victim, 'killed')
        break
      case 'stop':
        target.end(victim, 'asked')
        break
      case 'pause':
        target.pause(victim)
        break
      case 'slow-disk':
        target.setDisk(victim, { kind: 'slow', delayMs: harm.delayMs }, forMs)
        break
      case 'full-disk':
        target.setDisk(victim, { kind: 'full' }, forMs)
        break
      case 'clock-skew':
        target.setClock(victim, harm.skewMs, forMs)
        break
      case 'demote':
        await target.setRole(victim, 'learner')
        break
      case 'partition':
      case 'cut':
      case 'slow-link':
      case 'lossy-link':
      case 'rolling-restart':
      case 'member-churn':
        break
      default:
        assertNever(harm)
    }
  }
}

/** Takes back what `begin` did. Members that ended, or may be ending, have to be started again. */
export async function finish({ harm, victims }: Strike, target: ChaosTarget): Promise<void> {
  for (const victim of victims) {
    if (harm.kind === 'pause') target.resume(victim)
    else if (harm.kind === 'slow-disk' || harm.kind === 'full-disk') target.setDisk(victim, null, 0)
    else if (harm.kind === 'clock-skew') target.setClock(victim, 0, 0)
    else if (harm.kind === 'demote') await target.setRole(victim, 'voter')
  }
}
