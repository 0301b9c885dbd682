import { MemoryClusterRecord } from '../../raft/protocol/founding.ts'
import { MemoryPeerBook } from '../../raft/protocol/peer-log-ids.ts'
import type { NodeOptions } from '../../raft/protocol/node-options.ts'
import { ConsensusFailure } from '../../raft/index.ts'
import type { MemberInfo } from '../../raft/index.ts'
import type { LogDisk } from '../../raft/ports.ts'
import { MembersFailure } from '../../src/membership/members.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import { SeededRandom } from '../../base/random.ts'
import { MachineTime } from './clock.ts'
import type { MetFault } from './coverage.ts'
import { SimulatedDisk } from './disk.ts'
import { StateCondition } from './divergence.ts'
import type { Divergence } from './divergence.ts'
import { forGood, givesUp, ofTheState } from './excuses.ts'
import type { Excuse } from './excuses.ts'
import type { DiskFaultCode, DiskOperation } from './disk.ts'
import { SimKeyValueDisk } from './kv.ts'
import type { DatabaseWord, KeyValueRot } from './kv.ts'
import { startProcess } from './launch.ts'
import { foundEarlier } from './stranger.ts'
import { repairFrom } from './repairs.ts'
import { damageLog, damageRunningLog } from './log-rot.ts'
import type { LogRot, RotOutcome } from './log-rot.ts'
import { deafWatcher } from './life.ts'
import type { Life, Watcher } from './life.ts'
import type { Network } from './network.ts'
import type { Thread } from './plan.ts'
import { CrashPoint, stepsOfDisk } from './steps.ts'
import type { Ambush, CrashKind, CrashStep, Side } from './steps.ts'
import type { Swarm } from './swarm.ts'
import { lastDigest } from './witness.ts'
import type { Owner, World } from './world.ts'

export type MemberOptions = {
  readonly world: World
  readonly network: Network
  readonly watcher: Watcher
  readonly swarm: Swarm
  readonly node: NodeOptions
  readonly wrapDisk: (disk: LogDisk) => LogDisk
  /** Waits for whoever gets there first. */
  readonly ambush: CrashPoint
  readonly met: (fault: MetFault) => void
  readonly crashedAt: (step: CrashStep, side: Side) => void
  /** Some member applied what is not in the log. */
  readonly someDiverged: () => boolean
  /** Whether some member was told to send what cannot be true, or that one came back without its log. */
  readonly mayLie: (peer: number) => boolean
  /** Its process ended, by whatever. */
  readonly onDown: (member: Member) => void
}

/** A process that does not stop by then, in ms, is ended. */
const stopMsMax = 3_000
/** Whoever runs them starts processes again that ended, and gives up on one that says again that it was removed. */
const farewellsMax = 2

/** One member: disks that last, and a process of the shipped code that comes and goes. */
export class Member {
  readonly id: number
  readonly time: MachineTime
  readonly #options: MemberOptions
  readonly #disk: SimulatedDisk
  readonly #database: SimKeyValueDisk
  readonly #crashPoint = new CrashPoint()
  #peerBook = new MemoryPeerBook()
  #clusterRecord = new MemoryClusterRecord()
  readonly #excuses = new Set<Excuse>()
  readonly #state = new StateCondition()
  #diskFaults: { readonly operation: DiskOperation; readonly code: DiskFaultCode }[] = []
  #lost: string | null = null
  /** An operator asked for it, at any time. */
  #isToBeRepaired = false
  /** How many processes of it said that it was removed. */
  #farewells = 0
  /** The process that was told to stop. */
  #stopping: Life | null = null
  /** Its threads are not held up any more. */
  #calm = false
  life: Life | null = null
  /** Another process has its address. */
  seatTaken = false

  constructor(options: MemberOptions) {
    const { world, swarm, node } = options
    this.#options = options
    this.id = node.id
    this.#disk = new SimulatedDisk(world.random.fork())
    this.#database = new SimKeyValueDisk(world, swarm.keyValueDelays)
    const drift = (world.random.below(2_001) / 1_000 - 1) * swarm.driftMax
    this.time = new MachineTime(1 + drift)
  }

  get running(): boolean {
    return this.life !== null
  }

  /** Why it will never take part again; null: it may. */
  get lost(): string | null {
    return this.#lost
  }

  /** Nothing was done to it that it cannot come back from. */
  get recoverable(): boolean {
    return !forGood.some((excuse) => this.#excuses.has(excuse))
  }

  /** Its data directory is gone. */
  get isWiped(): boolean {
    return this.#excuses.has('wiped')
  }

  /** It knows that it was removed from the cluster. */
  get hasLeft(): boolean {
    return this.#farewells > 0
  }

  /** All that it holds is what was written. */
  get sound(): boolean {
    return (
      this.recoverable && !ofTheState.some((excuse) => this.#excuses.has(excuse)) && !this.#state.isSpoiled
    )
  }

  /** Its state is not what the log says. */
  get isWrong(): boolean {
    return this.#state.isWrong
  }

  /** One of its threads stands still. */
  get hangs(): boolean {
    const { now } = this.#options.world
    return this.life?.owners.some(({ pausedUntil }) => pausedUntil > now) === true
  }

  /** Of the founded cluster that it belongs to, as it durably knows. */
  get clusterId(): string | null {
    const record = this.#clusterRecord.read()
    return record?.founded === true ? record.clusterId : null
  }

  /** Whether it durably agreed to a cluster, founded or not. */
  get agreed(): boolean {
    return this.#clusterRecord.read() !== null
  }

  start(): void {
    if (this.seatTaken) return
    if (this.life !== null || this.#lost !== null || this.#farewells >= farewellsMax) return
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
        this.#excuses.add('disk')
        if (isMetFault(fault)) met(fault)
      },
    }
    this.#database.user = {
      step: (operation, side) => operation !== 'read' && this.#step([`database-${operation}`], side),
      met: (fault) => {
        if (fault === 'database-write-io') this.#excuses.add('disk')
        met(fault)
      },
      told: (word) => this.#databaseTold(word),
    }
    this.life = startProcess({
      ...{ world, network, swarm, node, wrapDisk, disk },
      // One that lost its log is somebody else; that nobody listens to it is all there is to judge.
      watcher: this.#excuses.has('wiped') ? deafWatcher : watcher,
      ...{ database: this.#database, peerBook: this.#peerBook, time: this.time },
      clusterRecord: this.#clusterRecord,
      step: (steps, side) => this.#step(steps, side),
      channelStalls: () => {
        if (!this.#calm) met('channel-stall')
        return !this.#calm
      },
      crashed: () => this.crash('power'),
      state: this.#state,
      looks: (machine) => this.#looks(machine),
      // A leader that still counts on the lost log is a contradiction, and found out as one.
      threw: (cause) => {
        if (!this.#excuses.has('wiped')) return false
        this.#gaveUp(cause)
        return true
      },
      gaveUp: (cause) => this.#gaveUp(cause),
      violated: (peer, violation) => this.#violated(peer, violation),
      removed: (cause) => this.#removed(cause),
      logRepaired: () => this.#logRepaired(),
      logWhole: () => void this.#excuses.delete('log-wounded'),
    })
  }

  /** The power goes, or only the process. */
  crash(kind: CrashKind): void {
    const { life } = this
    if (life === null) return
    this.life = null
    for (const owner of life.owners) owner.alive = false
    void life.transport.close()
    this.#crashPoint.disarm()
    this.#excuses.delete('disk')
    if (kind === 'power') this.#disk.crash()
    else this.#disk.kill()
    this.#database.crash()
    this.#options.onDown(this)
  }

  /** The process ends when it gets there; what it was doing is done, done in part, or not begun. */
  crashAt(ambush: Ambush): void {
    this.#crashPoint.arm(ambush)
  }

  disarm(): void {
    this.#crashPoint.disarm()
  }

  /** As an operator stops it: leadership away, everything closed in order. */
  async stop(): Promise<void> {
    const { life } = this
    if (life === null) return
    this.#stopping = life
    life.serving?.close()
    await life.watch?.close()
    await life.node.stop(life.clock.monotonicMs() + 300)
    life.store?.close()
    await life.machine?.close()
    if (this.life === life) this.crash('process')
  }

  /** As whoever runs it stops it: one whose disk hangs never ends by itself. */
  stopInTime(): void {
    const { life } = this
    const { world } = this.#options
    this.stop().catch((cause: unknown) => {
      if (this.life !== life) return
      // A log that never answers: the process ends anyway.
      if (cause instanceof ConsensusFailure && this.hangs) this.crash('process')
      else world.fail(cause)
    })
    world.schedule(stopMsMax, `loses patience with m${this.id}`, null, () => {
      if (this.life === life) this.crash('process')
    })
  }

  /** Nothing of it, or one of its threads only, goes on until then. */
  pause(thread: Thread, untilMs: number): void {
    for (const owner of this.life?.owners ?? []) {
      if (thread !== 'all' && !owner.name.endsWith(thread)) continue
      owner.pausedUntil = Math.max(owner.pausedUntil, untilMs)
    }
  }

  /** Until `healDisks`, whatever process runs. */
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

  /** Disks take what they are given again. A thread that waits for a disk for ever waits on. */
  healDisks(): void {
    this.#diskFaults = []
    this.#disk.heal()
    this.#database.heal()
  }

  /** No new harm: runs, and on disks that are well. */
  heal(): void {
    this.#calm = true
    this.#state.calm()
    this.healDisks()
    this.#database.calm()
    this.disarm()
    const { life } = this
    const hangs = life?.owners.some(({ pausedUntil }) => pausedUntil === Infinity) === true
    // Who is on its way out leaves now; damage that nobody looked at is found at the next start.
    const isDamaged = !this.recoverable || this.#excuses.has('database-damaged')
    if (hangs || this.#stopping === life || isDamaged) this.crash('process')
    for (const owner of this.life?.owners ?? []) this.#options.world.wake(owner)
    this.start()
  }

  /** While it is down. @throws when damage would go unnoticed */
  rotLog(kind: LogRot, seed: number): void {
    if (this.running) return
    const outcome = damageLog(this.#disk, kind, new SeededRandom(seed))
    if (outcome === null) return
    this.#options.world.note(`m${this.id} log rots: ${kind}, ${outcome}`)
    this.#options.met(metRot[outcome])
    if (outcome === 'refused') this.#excuses.add('log-damaged')
    if (outcome === 'wounded') this.#excuses.add('log-wounded')
  }

  /** Its scrub finds it, or whoever reads it, or the next start. */
  rotRunningLog(seed: number): void {
    const deed = damageRunningLog(this.#disk, new SeededRandom(seed))
    if (deed === null) return
    this.#options.world.note(`m${this.id} log rots while it runs: ${deed}`)
    this.#options.met('log-rots-in-use')
    this.#excuses.add('log-wounded')
  }

  #logRepaired(): void {
    const { world, met } = this.#options
    world.note(`m${this.id} repaired its log`)
    met('log-repaired')
    this.#excuses.delete('log-wounded')
  }

  rotDatabase(kind: KeyValueRot, seed: number): void {
    const deed = this.#database.rot(kind, new SeededRandom(seed))
    if (deed === null) return
    this.#options.world.note(`m${this.id} database rots: ${deed}`)
    this.#excuses.add('database-damaged')
  }

  /** What it applies is not what the others apply, once. */
  diverge(how: Divergence): void {
    this.#state.spoil(how)
  }

  /** It does not serve its state, as others have another one. */
  get isSuspect(): boolean {
    return this.life?.machine?.quarantine?.cause === 'disagreement'
  }

  /** Its state is right, served or not, and nothing is about to change that. */
  get isRight(): boolean {
    const machine = this.life?.machine ?? null
    const hasState = machine !== null && (machine.quarantine === null || this.isSuspect)
    return hasState && !this.#state.isSpoiled && !this.isWiped && !this.hasLeft
  }

  /** As an operator has it do who knows that the state of `from` is right. */
  repair(from: Member): void {
    const { world } = this.#options
    this.#isToBeRepaired = true
    repairFrom(this, from).catch((cause: unknown) => {
      if (!(cause instanceof MembersFailure) && !(cause instanceof ConsensusFailure)) return world.fail(cause)
      world.note(`m${this.id} is not repaired from m${from.id}: ${cause.message}`)
    })
  }

  /** All that it has is of an earlier founding under the same names, which got far. */
  ageTo(members: readonly MemberInfo[]): void {
    foundEarlier(members, this.#disk, {
      ...{ clusterRecord: this.#clusterRecord, peerBook: this.#peerBook },
      random: this.#options.world.random.fork(),
    })
    // Whatever becomes of it is nobody's loss.
    this.#excuses.add('wiped')
  }

  /** Its data directory is gone. */
  wipe(): void {
    if (this.running) return
    this.#disk.wipe()
    this.#database.wipe()
    this.#peerBook = new MemoryPeerBook()
    // One that agreed to no cluster yet has promised nothing: it takes part with its new log.
    const isNobody = this.#clusterRecord.read() === null && this.#options.node.joining === undefined
    this.#clusterRecord = new MemoryClusterRecord()
    if (isNobody) return
    this.#excuses.add('wiped')
    // Who it was is written nowhere else: a process in its place would have to join anew.
    if (this.#options.node.joining !== undefined) this.#lost = 'it does not know who it was'
  }

  #owner(role: string): Owner | undefined {
    return this.life?.owners.find(({ name }) => name.endsWith(`.${role}`))
  }

  #step(steps: readonly CrashStep[], side: Side): boolean {
    if (this.life === null) return false
    const { ambush, world, crashedAt } = this.#options
    const reached = this.#crashPoint.reached(steps, side) ?? ambush.reached(steps, side)
    if (reached === null) return false
    world.note(`m${this.id} ends ${side} ${reached.step}`)
    crashedAt(reached.step, side)
    this.crash(reached.end)
    return true
  }

  /** Whoever finds damage was damaged, and what is whole again is as good as new. */
  #databaseTold(word: DatabaseWord): void {
    const { world, met, someDiverged } = this.#options
    if (word.kind === 'whole') {
      // A state may wait for its installation long after it was looked through: what rots meanwhile is found later.
      if (this.#database.hasRotted(word.name)) return
      if (this.#excuses.delete('database-damaged')) met('database-healed')
      return
    }
    world.note(`m${this.id} quarantined: ${word.reason}`)
    switch (word.cause) {
      case 'operator':
        if (!this.#isToBeRepaired)
          world.fail(new Error(`I23: member ${this.id} was set aside by no operator`))
        met(this.#state.isWrong ? 'divergence-repaired' : 'right-repaired')
        this.#excuses.add('state-repaired')
        return
      case 'disagreement':
        met(this.#state.mayBeDistrusted ? 'divergence-suspected' : 'right-suspected')
        if (this.#state.mayBeDistrusted || someDiverged()) return
        world.fail(new Error(`I14: member ${this.id} is suspect where nobody is wrong: ${word.reason}`))
        return
      case 'damaged':
        met('database-quarantined')
        if (ofTheState.some((excuse) => this.#excuses.has(excuse))) return
        world.fail(new Error(`I14: member ${this.id} does not trust what nobody damaged: ${word.reason}`))
    }
  }

  /** At what it applied, or at another state in its place. */
  #looks(machine: StoreMachine): void {
    const { quarantine } = machine
    const isSuspect = quarantine?.cause === 'disagreement'
    if ((quarantine !== null && !isSuspect) || this.#excuses.has('wiped')) return
    const { world, watcher, met, someDiverged } = this.#options
    const wasWrong = this.#state.isWrong
    const isRight = watcher.isRight(machine)
    if (!this.#state.looked(isRight, watcher.tellsRight(machine), someDiverged())) {
      const what = `at index ${machine.appliedMemory} member ${this.id} has ${lastDigest(machine)}`
      world.fail(new Error(`I4 equal state: ${what}, which is not what the log makes`))
    }
    if (!isRight && !wasWrong) {
      world.note(`m${this.id} has a wrong state at ${machine.appliedMemory}`)
      met('divergence')
    }
    if (!isRight || isSuspect) return
    this.#excuses.delete('state-repaired')
    watcher.applied(this.id, machine)
  }

  /** It drains and ends, with a code of its own. */
  #removed(cause: string): void {
    const { world, met } = this.#options
    this.#farewells++
    met(this.#farewells > 1 ? 'member-left-again' : 'member-left')
    world.note(`m${this.id} leaves: ${cause}`)
    this.stopInTime()
  }

  /** What honest members say can always be true. */
  #violated(peer: number, violation: string): void {
    const { world, met, mayLie } = this.#options
    world.note(`m${this.id} refuses m${peer}: ${violation}`)
    if (mayLie(peer)) met('peer-violation')
    else if (!this.#excuses.has('wiped')) {
      world.fail(new Error(`member ${this.id} refused an honest message of member ${peer}: ${violation}`))
    }
  }

  #gaveUp(cause: unknown): void {
    const { world } = this.#options
    if (this.life === null) return
    const text = cause instanceof Error ? cause.message : String(cause)
    if (!givesUp.some((excuse) => this.#excuses.has(excuse))) {
      world.fail(new Error(`member ${this.id} gave up: ${text}`, { cause }))
      return
    }
    world.note(`m${this.id} gives up: ${text}`)
    if (this.#excuses.has('log-damaged') || logWasRefused.test(text)) this.#lost = text
    else if (this.#excuses.has('wiped')) this.#lost = text
    this.crash('power')
  }
}

const metRot: Readonly<Record<RotOutcome, MetFault>> = {
  refused: 'log-refused',
  wounded: 'log-wounded',
  repaired: 'log-repaired',
  harmless: 'log-damage-harmless',
}

/** What a log says that cannot be repaired. */
const logWasRefused = /it must be replaced by a new member$/

function isMetFault(fault: string): fault is Extract<MetFault, `disk-${string}`> {
  return ['disk-write-io', 'disk-sync-io', 'disk-read-io', 'disk-write-disk-full'].includes(fault)
}
