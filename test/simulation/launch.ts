import { ConsensusFailure } from '../../raft/node/errors.ts'
import { refuseAltered } from '../../raft/node/command-gate.ts'
import { LogFailure } from '../../raft/log/errors.ts'
import { LogActor } from '../../raft/log/log-actor.ts'
import type { ApiToLog, LogToApi, LogToRaft, RaftToLog } from '../../raft/log/log-protocol.ts'
import { Wal } from '../../raft/log/wal.ts'
import { ChannelLogReader } from '../../raft/node/log-reader.ts'
import type { MemoryPeerBook } from '../../raft/node/acquaintances.ts'
import { RaftNode } from '../../raft/node/node.ts'
import type { NodeOptions } from '../../raft/node/options.ts'
import type { ApiToRaft, RaftToApi } from '../../raft/node/protocol.ts'
import { RaftActor } from '../../raft/node/raft-actor.ts'
import type { Channel, LogDisk } from '../../raft/ports.ts'
import type { Outcome } from '../../src/store/command.ts'
import { MemberReporter } from '../../src/cluster/member-reporter.ts'
import { MemberReports } from '../../src/cluster/member-reports.ts'
import { StateGuard } from '../../src/cluster/state-guard.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import { Store } from '../../src/store/store.ts'
import { featureLevelMax } from '../../src/version.ts'
import { simChannel } from './channel.ts'
import type { Tap } from './channel.ts'
import { SimClock } from './clock.ts'
import type { MachineTime } from './clock.ts'
import { SimulatedCrash, SimulatedStall } from './disk.ts'
import type { SimulatedDisk } from './disk.ts'
import type { DatabaseWord, SimKeyValueDisk } from './kv.ts'
import type { Network } from './network.ts'
import type { Life, Watcher } from './process.ts'
import { stepsFromApi, stepsFromLog, stepsOfReads, stepsToApi, stepsToLog } from './steps.ts'
import type { CrashStep, Side } from './steps.ts'
import type { Swarm } from './swarm.ts'
import type { Owner, World } from './world.ts'

export type ProcessParts = {
  readonly world: World
  readonly network: Network
  readonly watcher: Watcher
  readonly swarm: Swarm
  readonly node: NodeOptions
  /** What the log sees of its disk: for disks that lie. */
  readonly wrapDisk: (disk: LogDisk) => LogDisk
  readonly disk: SimulatedDisk
  readonly database: SimKeyValueDisk
  readonly peerBook: MemoryPeerBook
  readonly time: MachineTime
  /** @returns whether the process ends at this step; then it has ended already */
  readonly step: (steps: readonly CrashStep[], side: Side) => boolean
  /** A message between two threads is to be held up. @returns whether it is */
  readonly channelStalls: () => boolean
  /** One of its events found the process crashed within its disk. */
  readonly crashed: () => void
  /** One of its threads ended by an error. @returns whether that was to be expected */
  readonly threw: (cause: unknown) => boolean
  /** It cannot go on, and says why in one line. */
  readonly gaveUp: (cause: unknown) => void
}

/** Builds one process of the shipped code: three actors, their channels and their ports, and lets them begin. */
export function startProcess(parts: ProcessParts): Life {
  const { world, network, swarm, node, watcher, time } = parts
  const caught = (cause: unknown): boolean => {
    if (cause instanceof SimulatedCrash) parts.crashed()
    return cause instanceof SimulatedCrash || cause instanceof SimulatedStall || parts.threw(cause)
  }
  const owner = (role: string): Owner => ({
    name: `m${node.id}.${role}`,
    alive: true,
    pausedUntil: 0,
    caught,
    waiting: [],
  })
  const [api, raft, log] = [owner('api'), owner('raft'), owner('log')]
  const shared = { world, stalls: parts.channelStalls }
  const apiRaft = simChannel<ApiToRaft, RaftToApi>({
    ...{ ...shared, ownerA: api, ownerB: raft, label: 'api-raft', delays: swarm.apiDelays },
    tapAtoB: tap(parts, stepsFromApi, () => undefined),
    tapBtoA: tap(parts, stepsToApi, (message) => watcher.toApi(node.id, message)),
  })
  const raftLog = simChannel<RaftToLog, LogToRaft>({
    ...{ ...shared, ownerA: raft, ownerB: log, label: 'raft-log', delays: swarm.logDelays },
    tapAtoB: tap(parts, stepsToLog, (message) => watcher.toLog(node.id, message)),
    tapBtoA: tap(parts, stepsFromLog, (message) => watcher.fromLog(node.id, message)),
  })
  const apiLog = simChannel<ApiToLog, LogToApi>({
    ...{ ...shared, ownerA: api, ownerB: log, label: 'api-log', delays: swarm.logDelays },
    tapBtoA: tap(parts, stepsOfReads, () => undefined),
  })
  let actor: RaftActor | null = null
  const name = `m${node.id}`
  const turnedAway = (peer: number): void => actor?.turnedAway(`m${peer}`)
  const transport = network.attach({ cluster: 'simulated', id: node.id, name, turnedAway }, raft)
  const clock = new SimClock(world, api, 'api', time)
  const raftNode = new RaftNode<Outcome>({
    ...{ node, clock, random: world.random.fork(), peerBook: parts.peerBook },
    ...{ raft: apiRaft.a, reader: new ChannelLogReader(apiLog.a) },
    onFatal: (cause) => parts.gaveUp(cause),
    onPeerEvent: null,
    close: async () => undefined,
  })
  const life: Life = {
    ...{ owners: [api, raft, log], transport, node: raftNode, clock },
    ...{ machine: null, store: null, guard: null, closeServing: () => undefined },
  }
  actor = new RaftActor({
    ...{ node, clock: new SimClock(world, raft, 'raft', time), random: world.random.fork() },
    ...{ transport, api: apiRaft.b, log: raftLog.a },
  })
  actor.begin()
  world.schedule(0, 'open', log, () => openLog(parts, log, raftLog.b, apiLog.b))
  openMachine(parts, life, api).catch((cause: unknown) => {
    // Told to stop while it began; or why it cannot go on was told already.
    if (cause instanceof ConsensusFailure && cause.code === 'stopped') return
    if (api.alive) parts.gaveUp(cause)
  })
  return life
}

function tap<M>(
  { step }: ProcessParts,
  stepsOf: (message: M) => readonly CrashStep[],
  saw: (message: M) => void,
): Tap<M> {
  return { step: (message, side) => step(stepsOf(message), side), saw }
}

/** As the log thread does it. */
function openLog(
  parts: ProcessParts,
  owner: Owner,
  raft: Channel<LogToRaft, RaftToLog>,
  api: Channel<LogToApi, ApiToLog>,
): void {
  const { world, watcher, wrapDisk, disk, node, swarm } = parts
  let store: Wal
  try {
    store = Wal.open({
      disk: wrapDisk(disk),
      random: world.random.fork(),
      segmentBytes: swarm.segmentBytes,
      aheadBytes: 4_096,
    })
  } catch (cause) {
    if (!(cause instanceof LogFailure)) throw cause
    raft.post({ kind: 'failed', code: cause.code, message: cause.message })
    return
  }
  watcher.opened(node.id, store)
  const clock = new SimClock(world, owner, 'log', parts.time)
  const onFailed = (): void => undefined
  const prepare = (): void => store.prepare()
  new LogActor({ store, raft, api, clock, refuse: refuseAltered, prepare, onFailed }).start()
}

async function openMachine(parts: ProcessParts, life: Life, api: Owner): Promise<void> {
  const { swarm, database, node } = parts
  const { base, lastIndex } = await life.node.recovered
  const damage = (word: DatabaseWord): void => {
    if (api.alive) parts.database.user?.told(word)
  }
  const machine = await StoreMachine.open({
    self: node.id,
    home: database.mount(api),
    clock: life.clock,
    limits: swarm.storeLimits,
    logBase: base,
    logLast: lastIndex,
    onFailure: (cause) => {
      if (api.alive) parts.gaveUp(cause)
    },
    onQuarantine: ({ reason }) => damage({ kind: 'quarantined', reason }),
    onReplay: () => damage({ kind: 'whole' }),
    onInstalled: () => damage({ kind: 'whole' }),
  })
  if (machine.quarantine === null) damage({ kind: 'whole' })
  machine.onApplied(() => {
    if (api.alive) parts.watcher.applied(node.id, machine)
  })
  life.machine = machine
  life.store = new Store({ consensus: life.node, machine, clock: life.clock, limits: swarm.storeLimits })
  await life.node.start(machine)
  if (!api.alive) return
  life.guard = guardState(life, machine)
  serveOnceTrusted(parts, life, machine, api)
}

/** Members compare their states, as they do in a server. */
function guardState(life: Life, machine: StoreMachine): StateGuard {
  const { clock, node: consensus } = life
  const log = { info: (): void => undefined, warn: (): void => undefined, error: (): void => undefined }
  const reports = new MemberReports({ consensus, clock, onUnreadable: () => undefined })
  const guard = new StateGuard({ state: machine, consensus, reports, clock, log })
  const reporter = new MemberReporter({
    ...{ consensus, clock },
    describe: () => ({ ...guard.describe(), featureLevelMax, version: '0' }),
  })
  guard.start()
  reporter.start()
  return guard
}

/** Clients come once there is something to serve. */
function serveOnceTrusted(parts: ProcessParts, life: Life, machine: StoreMachine, api: Owner): void {
  let serving = false
  const look = (): void => {
    if (serving || !api.alive || machine.quarantine !== null) return
    serving = true
    life.closeServing = parts.watcher.serving(parts.node.id, life)
  }
  machine.onApplied(look)
  look()
}
