import { assertNever } from '../../base/assert.ts'
import { between } from './links/rules.ts'
import type { LinkRule } from './links/rules.ts'
import type { FaultSpec } from './fault.ts'
import type { ChaosTarget } from './target.ts'

/** A fault in progress. */
export type ActiveFault = {
  readonly spec: FaultSpec
  /** One member, the members on one side of a partition, or all. */
  readonly targets: readonly string[]
  readonly forMs: number
}

/** Returns the link rules of a fault. */
export function rulesOf({ spec, targets }: ActiveFault, members: readonly string[]): readonly LinkRule[] {
  const others = members.filter((member) => !targets.includes(member))
  switch (spec.kind) {
    case 'partition':
      return between(targets, others, { cut: true })
    case 'cut':
      return between(targets, others, { cut: true }, spec.direction)
    case 'slow-link':
      return between(targets, others, { delayMs: spec.delayMs })
    case 'lossy-link':
      return between(targets, others, { lossPercent: spec.lossPercent })
    default:
      return []
  }
}

/**
 * Injects the fault. Does nothing for link faults, rolling restarts and member churn, which the
 * runner handles.
 */
export async function apply({ spec, targets, forMs }: ActiveFault, target: ChaosTarget): Promise<void> {
  for (const member of targets) {
    switch (spec.kind) {
      case 'kill':
      case 'outage':
        target.end(member, 'killed')
        break
      case 'stop':
        target.end(member, 'terminated')
        break
      case 'pause':
        target.pause(member)
        break
      case 'slow-disk':
        target.setDisk(member, { kind: 'slow', delayMs: spec.delayMs }, forMs)
        break
      case 'full-disk':
        target.setDisk(member, { kind: 'full' }, forMs)
        break
      case 'clock-skew':
        target.setClock(member, spec.skewMs, forMs)
        break
      case 'demote':
        await target.setRole(member, 'learner')
        break
      case 'partition':
      case 'cut':
      case 'slow-link':
      case 'lossy-link':
      case 'rolling-restart':
      case 'member-churn':
        break
      default:
        assertNever(spec)
    }
  }
}

/**
 * Reverts what `apply` did, but does not start members that have ended or are ending: the caller
 * starts them.
 */
export async function revert({ spec, targets }: ActiveFault, target: ChaosTarget): Promise<void> {
  for (const member of targets) {
    if (spec.kind === 'pause') target.resume(member)
    else if (spec.kind === 'slow-disk' || spec.kind === 'full-disk') target.setDisk(member, null, 0)
    else if (spec.kind === 'clock-skew') target.setClock(member, 0, 0)
    else if (spec.kind === 'demote') await target.setRole(member, 'voter')
  }
}
