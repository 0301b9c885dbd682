import { MemoryClusterRecord } from '../../raft/protocol/founding.ts'
import { MemoryPeerBook } from '../../raft/protocol/peer-log-ids.ts'
import { ConsensusError } from '../../raft/index.ts'
import type { MemberInfo } from '../../raft/index.ts'
import { MemberChecks } from './member-checks.ts'
import type { MemberOptions } from './member-options.ts'
import { MembersError } from '../../src/membership/members.ts'
import { MachineTime } from './clock.ts'
import type { MetFault } from './coverage.ts'
import { SimulatedDisk } from './disk.ts'
import { StateCondition } from './divergence.ts'
import type { Divergence } from './divergence.ts'
import { permanentImpairments, exitImpairments, stateImpairments } from './impairments.ts'
import type { Impairment } from './impairments.ts'
import type { DiskFaultCode, DiskOperation } from './disk.ts'
import { SimKeyValueDisk } from './kv.ts'
import type { KeyValueRot } from './kv.ts'
import { startProcess } from './start-process.ts'
import { writeEarlierCluster } from './earlier-cluster.ts'
import { repairFrom } from './operator-repair.ts'
import type { LogRot } from './log-rot.ts'
import { ignoringObserver } from './process-instance.ts'
import type { ProcessInstance } from './process-instance.ts'
import type { Thread } from './plan.ts'
import { CrashPoints, stepsOfDisk } from './crash-points.ts'
import type { CrashPoint, CrashKind, CrashStep, Side } from './crash-points.ts'
import type { Owner } from './world.ts'

/** A process that does not stop within this time, in ms, is killed. */
const stopMsMax = 3_000
/** A supervisor restarts processes that ended, and stops after the second report of a removal. */
const removalNoticesMax = 2

/** One member: durable disks, and processes of the real code that start and end. */
export class Member {
  readonly id: number
  readonly time: MachineTime
  readonly #options: MemberOptions
  readonly #disk: SimulatedDisk
  readonly #database: SimKeyValueDisk
  readonly #crashPoints = new CrashPoints()
  #peerBook = new MemoryPeerBook()
  #clusterRecord = new MemoryClusterRecord()
  readonly #impairments = new Set<Impairment>()
  readonly #state = new StateCondition()
  readonly #checks: MemberChecks
  #diskFaults: { readonly operation: DiskOperation; readonly code: DiskFaultCode }[] = []
  #lost: string | null = null
  /** Number of processes of this member that reported the removal. */
  #removalNotices = 0
  /** The process that is stopping. */
  #stopping: ProcessInstance | null = null
  /** Whether messages between its threads are no longer delayed for long. */
  #calm = false
  instance: ProcessInstance | null = null
  /** Whether another process uses its address. */
  addressTaken = false

  constructor(options: MemberOptions) {
    const { world, swarm, node } = options
    this.#options = options
    this.id = node.id
    this.#disk = new SimulatedDisk(world.random.fork())
    this.#database = new SimKeyValueDisk(world, swarm.keyValueDelays)
    const drift = (world.random.below(2_001) / 1_000 - 1) * swarm.driftMax
    this.time = new MachineTime(1 + drift)
    this.#checks = new MemberChecks({
      ...{ id: this.id, options, state: this.#state, impairments: this.#impairments },
      ...{ disk: this.#disk, database: this.#database },
    })
  }

  get running(): boolean {
    return this.instance !== null
  }

  /** The reason why the member can never take part again; null: it can. */
  get lost(): string | null {
    return this.#lost
  }

  /** Returns whether it can recover from its faults. */
  get recoverable(): boolean {
    return !permanentImpairments.some((impairment) => this.#impairments.has(impairment))
  }

  /** Whether its data directory was lost. */
  get isWiped(): boolean {
    return this.#impairments.has('wiped')
  }

  /** Whether the member knows that it was removed from the cluster. */
  get knowsRemoval(): boolean {
    return this.#removalNotices > 0
  }

  /** Whether its disks hold exactly what was written, and its state is the result of the log. */
  get sound(): boolean {
    return (
      this.recoverable &&
      !stateImpairments.some((impairment) => this.#impairments.has(impairment)) &&
      !this.#state.isSpoiled
    )
  }

  /** Returns whether its state differs from the result of the log. */
  get isWrong(): boolean {
    return this.#state.isWrong
  }

  /** Returns whether one of its threads is stalled. */
  get hangs(): boolean {
    const { now } = this.#options.world
    return this.instance?.owners.some(({ pausedUntil }) => pausedUntil > now) === true
  }

  /** The durable id of the founded cluster that it belongs to; null: none. */
  get clusterId(): string | null {
    const record = this.#clusterRecord.read()
    return record?.founded === true ? record.clusterId : null
  }

  /** Whether it durably agreed to a cluster, founded or not. */
  get agreed(): boolean {
    return this.#clusterRecord.read() !== null
  }

  start(): void {
    if (this.addressTaken) return
    if (this.instance !== null || this.#lost !== null || this.#removalNotices >= removalNoticesMax) return
    const { world, network, watcher, swarm, node, wrapDisk, met } = this.#options
    const disk = this.#disk
    for (const { operation, code } of this.#diskFaults) disk.fail(operation, code)
    disk.user = {
      step: (operation, side) => this.#step(stepsOfDisk[operation] ?? [], side),
      waits: (ms) => {
        met(Number.isFinite(ms) ? 'sync-stalls' : 'sync-stalls-for-ever')
        const log = this.#owner('log')
        if (log !== undefined) log.pausedUntil = Math.max(log.pausedUntil, world.now + ms)
      },
      met: (fault) => {
        this.#impairments.add('disk')
        if (isMetFault(fault)) met(fault)
      },
    }
    this.#database.user = {
      step: (operation, side) => operation !== 'read' && this.#step([`database-${operation}`], side),
      met: (fault) => {
        if (fault === 'database-write-io') this.#impairments.add('disk')
        met(fault)
      },
      report: (event) => this.#checks.onDatabaseReport(event),
    }
    this.instance = startProcess({
      ...{ world, network, swarm, node, wrapDisk, disk },
      // A member that lost its log must only be rejected: nothing else of it is checked.
      watcher: this.#impairments.has('wiped') ? ignoringObserver : watcher,
      ...{ database: this.#database, peerBook: this.#peerBook, time: this.time },
      clusterRecord: this.#clusterRecord,
      step: (steps, side) => this.#step(steps, side),
      channelStalls: () => {
        if (!this.#calm) met('channel-stall')
        return !this.#calm
      },
      crashed: () => this.crash('power'),
      state: this.#state,
      onState: (machine) => this.#checks.onState(machine),
      // A leader that still counts on the lost log makes an assertion fail here, which is expected.
      threw: (cause) => {
        if (!this.#impairments.has('wiped')) return false
        this.#failed(cause)
        return true
      },
      failed: (cause) => this.#failed(cause),
      violated: (peer, violation) => this.#checks.onViolation(peer, violation),
      removed: (cause) => this.#removed(cause),
      logRepaired: () => this.#checks.onLogRepaired(),
      logWhole: () => void this.#impairments.delete('log-repairable'),
    })
  }

  /** A power failure, or a crash of the process only. */
  crash(kind: CrashKind): void {
    const { instance } = this
    if (instance === null) return
    this.instance = null
    for (const owner of instance.owners) owner.alive = false
    void instance.transport.close()
    this.#crashPoints.disarm()
    this.#impairments.delete('disk')
    if (kind === 'power') this.#disk.crash()
    else this.#disk.kill()
    this.#database.crash()
    this.#options.onDown()
  }

  /**
   * Sets a crash point, at which the process crashes with the operation done, done in part, or not
   * begun.
   */
  crashAt(point: CrashPoint): void {
    this.#crashPoints.arm(point)
  }

  disarm(): void {
    this.#crashPoints.disarm()
  }

  /** Stops it as an operator does: transfers leadership, closes everything in order. */
  async stop(): Promise<void> {
    const { instance } = this
    if (instance === null) return
    this.#stopping = instance
    instance.serving?.close()
    instance.caughtUp?.close()
    await instance.watch?.close()
    await instance.node.stop(instance.clock.monotonicMs() + 300)
    instance.store?.close()
    await instance.machine?.close()
    if (this.instance === instance) this.crash('process')
  }

  /** Stops it with a timeout, as a supervisor does: a process with a hanging disk never exits. */
  stopInTime(): void {
    const { instance } = this
    const { world } = this.#options
    this.stop().catch((cause: unknown) => {
      if (this.instance !== instance) return
      // The log never responds: the process ends anyway.
      if (cause instanceof ConsensusError && this.hangs) this.crash('process')
      else world.fail(cause)
    })
    world.schedule(stopMsMax, `stop timeout of m${this.id}`, null, () => {
      if (this.instance === instance) this.crash('process')
    })
  }

  /** Pauses the process, or one of its threads, until `untilMs`. */
  pause(thread: Thread, untilMs: number): void {
    for (const owner of this.instance?.owners ?? []) {
      if (thread !== 'all' && !owner.name.endsWith(thread)) continue
      owner.pausedUntil = Math.max(owner.pausedUntil, untilMs)
    }
  }

  /** Makes the operation fail until `healDisks`, also after a restart. */
  failDisk(operation: 'write' | 'sync' | 'read', code: DiskFaultCode): void {
    this.#diskFaults.push({ operation, code })
    if (this.running) this.#disk.fail(operation, code)
  }

  /** The next sync of the log takes this long; Infinity: until the process ends. */
  stallDisk(ms: number): void {
    this.#disk.stall(ms)
  }

  stallDatabase(untilMs: number): void {
    this.#database.stall(untilMs)
  }

  failDatabase(): void {
    this.#database.fail()
  }

  /** Disks accept operations again. A thread that waits for a disk forever keeps waiting. */
  healDisks(): void {
    this.#diskFaults = []
    this.#disk.heal()
    this.#database.heal()
  }

  /** Ends all faults: the member runs on healthy disks. */
  heal(): void {
    this.#calm = true
    this.#state.calm()
    this.healDisks()
    this.#database.calm()
    this.disarm()
    const { instance } = this
    const hangs = instance?.owners.some(({ pausedUntil }) => pausedUntil === Infinity) === true
    // A stopping process ends now; unread damage is found at the next start.
    const isDamaged = !this.recoverable || this.#impairments.has('database-damaged')
    if (hangs || this.#stopping === instance || isDamaged) this.crash('process')
    for (const owner of this.instance?.owners ?? []) this.#options.world.wake(owner)
    this.start()
  }

  /** Damages the log of a stopped member. @throws when the damage would go unnoticed */
  rotLog(kind: LogRot, seed: number): void {
    if (!this.running) this.#checks.rotLog(kind, seed)
  }

  /** Damages a log in use: the scrub, a read or the next start finds it. */
  rotRunningLog(seed: number): void {
    this.#checks.rotRunningLog(seed)
  }

  rotDatabase(kind: KeyValueRot, seed: number): void {
    this.#checks.rotDatabase(kind, seed)
  }

  /** Makes it apply one command differently from the others. */
  diverge(how: Divergence): void {
    this.#state.corrupt(how)
  }

  /** Whether the member does not serve its state because other members have another one. */
  get isSuspect(): boolean {
    return this.instance?.machine?.quarantine?.cause === 'disagreement'
  }

  /** Whether its state is correct, served or not, and no pending fault will change that. */
  get isRight(): boolean {
    const machine = this.instance?.machine ?? null
    const hasState = machine !== null && (machine.quarantine === null || this.isSuspect)
    return hasState && !this.#state.isSpoiled && !this.isWiped && !this.knowsRemoval
  }

  /** Repairs the member like an operator with the knowledge that the state of `from` is correct. */
  repair(from: Member): void {
    const { world } = this.#options
    this.#checks.expectRepair()
    repairFrom(this, from).catch((cause: unknown) => {
      if (!(cause instanceof MembersError) && !(cause instanceof ConsensusError)) return world.fail(cause)
      world.note(`m${this.id} is not repaired from m${from.id}: ${cause.message}`)
    })
  }

  /** Replaces all its data by that of an earlier cluster with the same names and a long log. */
  replaceWithEarlierCluster(members: readonly MemberInfo[]): void {
    writeEarlierCluster(members, this.#disk, {
      ...{ clusterRecord: this.#clusterRecord, peerBook: this.#peerBook },
      random: this.#options.world.random.fork(),
    })
    // Marks its data as lost, so that the checkers ignore it.
    this.#impairments.add('wiped')
  }

  /** Removes its data directory. */
  wipe(): void {
    if (this.running) return
    this.#disk.wipe()
    this.#database.wipe()
    this.#peerBook = new MemoryPeerBook()
    // A member that agreed to no cluster yet has promised nothing: it takes part with its new log.
    const isUnbound = this.#clusterRecord.read() === null && this.#options.node.joining === undefined
    this.#clusterRecord = new MemoryClusterRecord()
    if (isUnbound) return
    this.#impairments.add('wiped')
    // Its identity is stored nowhere else: a new process would have to join again.
    if (this.#options.node.joining !== undefined) this.#lost = 'its identity is lost'
  }

  #owner(role: string): Owner | undefined {
    return this.instance?.owners.find(({ name }) => name.endsWith(`.${role}`))
  }

  #step(steps: readonly CrashStep[], side: Side): boolean {
    if (this.instance === null) return false
    const { allCrashPoints, world, crashedAt } = this.#options
    const reached = this.#crashPoints.reached(steps, side) ?? allCrashPoints.reached(steps, side)
    if (reached === null) return false
    world.note(`m${this.id} ends ${side} ${reached.step}`)
    crashedAt(reached.step, side)
    this.crash(reached.end)
    return true
  }

  /** Stops the process of a removed member. */
  #removed(cause: string): void {
    const { world, met } = this.#options
    this.#removalNotices++
    met(this.#removalNotices > 1 ? 'removal-noticed-again' : 'removal-noticed')
    world.note(`m${this.id} is removed: ${cause}`)
    this.stopInTime()
  }

  #failed(cause: unknown): void {
    const { world } = this.#options
    if (this.instance === null) return
    const text = cause instanceof Error ? cause.message : String(cause)
    if (!exitImpairments.some((impairment) => this.#impairments.has(impairment))) {
      world.fail(new Error(`member ${this.id} failed: ${text}`, { cause }))
      return
    }
    world.note(`m${this.id} fails: ${text}`)
    if (this.#impairments.has('log-damaged') || logWasRefused.test(text)) this.#lost = text
    else if (this.#impairments.has('wiped')) this.#lost = text
    this.crash('power')
  }
}

/** The error of a log that cannot be repaired. */
const logWasRefused = /it must be replaced by a new member$/

function isMetFault(fault: string): fault is Extract<MetFault, `disk-${string}`> {
  return ['disk-write-io', 'disk-sync-io', 'disk-read-io', 'disk-write-disk-full'].includes(fault)
}
