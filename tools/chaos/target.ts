import type { LinkRule } from './links/rules.ts'

export type DiskFault = { readonly kind: 'slow'; readonly delayMs: number } | { readonly kind: 'full' }

/** The cluster under test: the faults that can be injected and the state that is observed. */
export interface ChaosTarget {
  readonly members: readonly string[]
  /** The current leader as far as a member reports one; null: none. */
  leader(): Promise<string | null>
  /** Whether `/readyz` succeeds. */
  isReady(member: string): Promise<boolean>
  isRunning(member: string): boolean
  start(member: string): void
  /** Sends SIGKILL or SIGTERM to a running member, which ends some time later. */
  end(member: string, how: 'killed' | 'terminated'): void
  /** Stops a member with SIGSTOP until `resume`, or until this process ends. */
  pause(member: string): void
  resume(member: string): void
  /** Replaces all link rules, until this process ends. @throws ChaosError `links` */
  setLinks(rules: readonly LinkRule[]): Promise<void>
  /**
   * Injects a disk fault, or reverts it.
   *
   * @param fault null: reverts an earlier fault
   * @param forMs planned duration. Without a revert, a slow disk ends some time after this
   *   duration, and a full disk when this process ends
   * @throws ChaosError `disk`
   */
  setDisk(member: string, fault: DiskFault | null, forMs: number): void
  setClock(member: string, skewMs: number, forMs: number): void
  /** Resolves when the role has changed. @throws CodedError when it takes too long */
  setRole(member: string, role: 'voter' | 'learner'): Promise<void>
  /** Adds a member and waits until it votes. @returns its name */
  addMember(): Promise<string>
  /** Removes a member and waits until it is removed. */
  removeMember(name: string): Promise<void>
}
