import type { SeededRandom } from '../../base/random.ts'
import type { MemberRole } from '../../raft/index.ts'
import type { Target } from './fault-target.ts'

/** A membership change, requested of any member and retried until one responds. */
export type MembershipAction =
  /** A process on an empty disk, started `startMs` after its admission. */
  | {
      readonly kind: 'join'
      /** `learner`: pinned. `voter`: its leader promotes it once it has caught up. */
      readonly role: MemberRole
      /**
       * The member that it replaces at its promotion; `dead`: one that does not run, if any, else
       * the target.
       */
      readonly replaces: 'none' | 'dead' | 'target'
      readonly target: Target
      /** Named like the last removed member, if its name is free. */
      readonly isNamesake: boolean
      readonly startMs: number
    }
  | { readonly kind: 'remove'; readonly target: Target }
  | { readonly kind: 'set-role'; readonly target: Target; readonly role: MemberRole }
  /** Moves to another address. */
  | { readonly kind: 'move'; readonly target: Target; readonly port: number }

export const membershipActionKinds: readonly MembershipAction['kind'][] = [
  'join',
  'remove',
  'set-role',
  'move',
]

/** Maximum number of joins in one run: each adds a member to simulate. */
export const joinsMax = 6

export function drawMembershipAction(
  kind: MembershipAction['kind'],
  random: SeededRandom,
  target: Target,
): MembershipAction {
  switch (kind) {
    case 'join': {
      const role = random.pick(['voter', 'voter', 'voter', 'learner'] as const)
      const replaces = role === 'learner' ? 'none' : random.pick(['none', 'dead', 'dead', 'target'] as const)
      const isNamesake = random.chance(0.5)
      return { kind, role, replaces, target, isNamesake, startMs: random.pick([1, 50, 1_000]) }
    }
    case 'remove':
      return { kind, target }
    case 'move':
      return { kind, target, port: 1_000 + random.below(1_000) }
    case 'set-role':
      return { kind, target, role: random.pick(['voter', 'voter', 'learner'] as const) }
  }
}
