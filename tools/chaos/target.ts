import type { FaultKind } from './fault.ts'
import type { LinkRule } from './links/rules.ts'

export type DiskFault = { readonly kind: 'slow'; readonly delayMs: number } | { readonly kind: 'full' }

/** The cluster that is harmed: what chaos can do to it, and what it looks at. */
export interface ChaosTarget {
  readonly members: readonly string[]
  /** Why a fault cannot be had here, and what would help; null: it can. */
  lacks(kind: FaultKind): string | null
  /** Whoever leads now as far as anybody says; null: nobody does. */
  leader(): Promise<string | null>
  /** Whether it answers `/readyz` with yes now. */
  isReady(member: string): Promise<boolean>
  isRunning(member: string): boolean
  start(member: string): void
  /** SIGKILL, SIGTERM. It ends a while later; nothing happens to one that does not run. */
  end(member: string, how: 'killed' | 'asked'): void
  /** Until `resume`, or until this process is gone. */
  pause(member: string): void
  resume(member: string): void
  /** These and no others hold from now on, or until this process is gone. @throws ChaosFailure `links` */
  setLinks(rules: readonly LinkRule[]): Promise<void>
  /** @param forMs of the plan: it ends a while after it even when nobody says so */
  setDisk(member: string, harm: DiskFault | null, forMs: number): void
  setClock(member: string, skewMs: number, forMs: number): void
  /** Once it is so. @throws Failure when it does not come to be in time */
  setRole(member: string, role: 'voter' | 'learner'): Promise<void>
  /** One more, once it votes. @returns its name */
  addMember(): Promise<string>
  /** Once it is no member any more. */
  removeMember(name: string): Promise<void>
}
