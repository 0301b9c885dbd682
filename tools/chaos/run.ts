import type { Clock } from '../../base/clock.ts'
import { ChaosError } from './errors.ts'
import { describeFault, allMembers, theLeader } from './fault.ts'
import type { Fault, FaultKind } from './fault.ts'
import { chaosLimits } from './limits.ts'
import { apply, revert, rulesOf } from './active-fault.ts'
import type { ActiveFault } from './active-fault.ts'
import type { ChaosTarget } from './target.ts'

/** A completed fault. */
export type CompletedFault = {
  readonly fault: Fault
  readonly kind: string
  /** The affected members, separated by commas. */
  readonly target: string
  /** Wall clock, ms since 1970. */
  readonly atMs: number
  readonly endMs: number
  /** Ms from its end until all targets were ready again; null: the run was interrupted before. */
  readonly readyMs: number | null
}

export type RunOptions = {
  readonly plan: readonly Fault[]
  /** Faults that would end later, because earlier ones took long to revert, are skipped. */
  readonly durationMs: number
  readonly target: ChaosTarget
  readonly clock: Clock
  /** Ends the run early and reverts all faults. */
  readonly signal: AbortSignal
  readonly onBegin: (fault: Fault, what: { readonly kind: string; readonly target: string }) => void
  readonly onDone: (done: CompletedFault) => void
}

const pollMs = 50
const exitGraceMs = 1000

/** Faults that end all their targets at once. A rolling restart ends one after the other. */
const terminating: ReadonlySet<FaultKind> = new Set(['kill', 'stop', 'full-disk', 'outage'])

/**
 * Runs the plan in order. A fault begins at its planned time, or as much later as the run is late,
 * once the targets of the previous fault of its lane are ready again. All faults are reverted in
 * the end: paused members continue, links recover, and members that ended are started and awaited.
 *
 * @throws ChaosError `not-healed`, `links`, `disk`; CodedError when a membership change fails
 */
export async function runChaos(options: RunOptions): Promise<void> {
  const run = new Run(options)
  try {
    await run.all()
  } finally {
    await run.revertAll()
  }
}

class Run {
  readonly #options: RunOptions
  readonly #stop = new AbortController()
  readonly #active = new Set<ActiveFault>()
  /** Members that are affected or not yet ready again. */
  readonly #busy = new Set<string>()
  /**
   * Members that a fault ends, until they are ready again. Any other end of a process is an error.
   */
  readonly #mayEnd = new Set<string>()
  readonly #lanes = new Map<number | null, Promise<void>>()
  #startMs = 0
  /** How late the run is compared with its plan, because faults took longer to revert. */
  #lateMs = 0
  /** The proxies accept one update at a time. */
  #linksUpdated: Promise<void> = Promise.resolve()

  constructor(options: RunOptions) {
    this.#options = options
    options.signal.addEventListener('abort', () => this.#stop.abort())
    if (options.signal.aborted) this.#stop.abort()
  }

  async all(): Promise<void> {
    const { plan, clock, durationMs } = this.#options
    this.#startMs = clock.monotonicMs()
    for (const fault of plan) {
      await Promise.all(
        fault.lane === null ? this.#lanes.values() : [this.#over(null), this.#over(fault.lane)],
      )
      const atMs = fault.atMs + this.#lateMs
      if (this.#stop.signal.aborted) break
      if (atMs + fault.forMs > durationMs) continue
      await this.#sleep(this.#startMs + atMs - clock.monotonicMs())
      if (this.#stop.signal.aborted) break
      const active = this.#inject(fault)
      this.#lanes.set(fault.lane, active)
      // `all` awaits this promise later and rejects with it; until then it only stops the run.
      active.catch(() => this.#stop.abort())
    }
    const ends = await Promise.allSettled(this.#lanes.values())
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  /** Reverts all faults. @throws ChaosError `not-healed`, `links` */
  async revertAll(): Promise<void> {
    const { target } = this.#options
    this.#active.clear()
    for (const member of target.members) {
      target.resume(member)
      target.setDisk(member, null, 0)
      target.setClock(member, 0, 0)
    }
    const reported = await Promise.allSettled([this.#updateLinks()])
    const lost = target.members.filter((name) => !target.isRunning(name) && !this.#mayEnd.has(name))
    for (const member of target.members) this.#mayEnd.add(member)
    await Promise.all(target.members.map((member) => this.#awaitReady(member, true)))
    for (const end of reported) if (end.status === 'rejected') throw end.reason
    if (lost.length > 0) throw unexpectedExit(lost.join(', '))
  }

  #over(lane: number | null): Promise<void> {
    return this.#lanes.get(lane) ?? Promise.resolve()
  }

  async #inject(fault: Fault): Promise<void> {
    const { clock, target, onBegin, onDone } = this.#options
    const leader = fault.target === theLeader ? await this.#leader() : null
    const targets = this.#targetsOf(fault, leader)
    const active: ActiveFault = { spec: fault.spec, targets, forMs: fault.forMs }
    const what = { kind: describeFault(fault.spec), target: targets.join(',') }
    const atMs = clock.wallMs()
    onBegin(fault, what)
    this.#active.add(active)
    for (const member of targets) {
      this.#busy.add(member)
      if (terminating.has(fault.spec.kind)) this.#mayEnd.add(member)
    }
    try {
      await this.#updateLinks()
      await apply(active, target)
      if (fault.spec.kind === 'rolling-restart') await this.#restartEach()
      else if (fault.spec.kind === 'member-churn') await this.#addThenRemove(fault.forMs)
      else await this.#sleep(fault.forMs)
    } finally {
      await revert(active, target)
      this.#active.delete(active)
      await this.#updateLinks()
    }
    const endMs = clock.wallMs()
    const overMs = clock.monotonicMs()
    // A member whose writes failed may still answer `/readyz` before it exits.
    if (fault.spec.kind === 'full-disk') await this.#sleep(exitGraceMs)
    // A member may still report that it is ready before it handles SIGTERM.
    if (fault.spec.kind === 'stop') for (const member of targets) await this.#awaitEnd(member)
    const ready = await Promise.all(targets.map((member) => this.#recover(member)))
    for (const member of targets) this.#busy.delete(member)
    const readyMs = ready.every(Boolean) ? clock.monotonicMs() - overMs : null
    const plannedMs = this.#startMs + fault.atMs + fault.forMs
    this.#lateMs = Math.max(this.#lateMs, clock.monotonicMs() - plannedMs)
    onDone({ fault, ...what, atMs, endMs, readyMs })
  }

  /** Returns the members to affect, none of which another lane affects. */
  #targetsOf({ target, spec }: Fault, leader: string | null): readonly string[] {
    const { members } = this.#options.target
    if (target === allMembers) return members
    const from = Math.max(0, members.indexOf(target === theLeader ? (leader ?? '') : target))
    const inOrder = [...members.slice(from), ...members.slice(0, from)]
    return inOrder.filter((name) => !this.#busy.has(name)).slice(0, spec.kind === 'partition' ? spec.size : 1)
  }

  async #leader(): Promise<string | null> {
    const { clock, target } = this.#options
    const endMs = clock.monotonicMs() + chaosLimits.leaderMsMax
    for (;;) {
      const leader = await target.leader()
      if (leader !== null || this.#stop.signal.aborted || clock.monotonicMs() > endMs) return leader
      await this.#sleep(pollMs)
    }
  }

  #updateLinks(): Promise<void> {
    const { target } = this.#options
    const reported = this.#linksUpdated.then(() =>
      target.setLinks([...this.#active].flatMap((active) => rulesOf(active, target.members))),
    )
    this.#linksUpdated = reported.catch(() => undefined)
    return reported
  }

  async #restartEach(): Promise<void> {
    const { target } = this.#options
    for (const member of target.members) {
      if (this.#stop.signal.aborted) return
      if (!target.isRunning(member)) throw unexpectedExit(member)
      this.#mayEnd.add(member)
      target.end(member, 'terminated')
      await this.#awaitEnd(member)
      await this.#recover(member)
    }
  }

  async #addThenRemove(forMs: number): Promise<void> {
    const { target } = this.#options
    const name = await target.addMember()
    try {
      await this.#sleep(forMs)
    } finally {
      await target.removeMember(name)
    }
  }

  async #awaitEnd(member: string): Promise<void> {
    const { clock, target } = this.#options
    const endMs = clock.monotonicMs() + chaosLimits.stopMsMax
    while (target.isRunning(member)) {
      if (clock.monotonicMs() > endMs) {
        const limit = chaosLimits.stopMsMax / 1000
        throw new ChaosError('not-healed', `${member} did not stop within ${limit} s of SIGTERM`)
      }
      await pause(clock, pollMs)
    }
  }

  /** Returns false when the run was stopped while waiting; the member may then still end. */
  async #recover(member: string): Promise<boolean> {
    const isReady = await this.#awaitReady(member, false)
    if (isReady) this.#mayEnd.delete(member)
    return isReady
  }

  /**
   * Waits until the member is ready, and starts it when it has ended. After SIGTERM a member may
   * take a while to end.
   *
   * @param always also after the run was stopped
   * @returns false when the run was stopped while waiting
   */
  async #awaitReady(member: string, always: boolean): Promise<boolean> {
    const { clock, target } = this.#options
    const endMs = clock.monotonicMs() + chaosLimits.readyMsMax
    for (;;) {
      if (!always && this.#stop.signal.aborted) return false
      if (!target.isRunning(member)) this.#start(member)
      else if (await target.isReady(member)) return true
      if (clock.monotonicMs() > endMs) {
        const limit = chaosLimits.readyMsMax / 1000
        throw new ChaosError(
          'not-healed',
          `${member} is not ready ${limit} s after the fault: see its server.log`,
        )
      }
      await pause(clock, pollMs)
    }
  }

  /** @throws ChaosError `not-healed` when it ended without a fault */
  #start(member: string): void {
    if (!this.#mayEnd.has(member)) throw unexpectedExit(member)
    this.#options.target.start(member)
  }

  /** Resolves early when the run is stopped. */
  async #sleep(ms: number): Promise<void> {
    const { signal } = this.#stop
    if (ms <= 0 || signal.aborted) return
    await new Promise<void>((resolve) => {
      const end = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = this.#options.clock.after(ms, end)
      signal.addEventListener('abort', end)
    })
  }
}

function unexpectedExit(member: string): ChaosError {
  return new ChaosError('not-healed', `${member} ended unexpectedly: see its server.log`)
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
