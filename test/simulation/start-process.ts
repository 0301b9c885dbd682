import pino from 'pino'
import { present } from '../../base/assert.ts'
import { ConsensusError } from '../../raft/protocol/node-errors.ts'
import { refuseAltered } from '../../raft/protocol/command-checksum-guard.ts'
import { LogError } from '../../raft/log/errors.ts'
import { LogActor } from '../../raft/log/log-actor.ts'
import type { DamagedLog } from '../../raft/log/log-actor.ts'
import type { ApiToLog, LogToApi, LogToRaft, RaftToLog } from '../../raft/log/log-protocol.ts'
import { openLog as openLogOnDisk } from '../../raft/log/open-log.ts'
import type { OpenedLog } from '../../raft/log/open-log.ts'
import type { LogRepair } from '../../raft/log/repairable-log.ts'
import { SharedLease } from '../../raft/protocol/shared-lease.ts'
import { ChannelLogReader } from '../../raft/threads/log-reader.ts'
import type { MemoryClusterRecord } from '../../raft/protocol/founding.ts'
import type { MemoryPeerBook } from '../../raft/protocol/peer-log-ids.ts'
import { RaftNode } from '../../raft/node/node.ts'
import type { NodeOptions } from '../../raft/protocol/node-options.ts'
import type { ApiToRaft, RaftToApi } from '../../raft/protocol/thread-messages.ts'
import { RaftActor } from '../../raft/driver/raft-actor.ts'
import type { Channel, LogDisk, LogStore, StateMachine } from '../../raft/ports.ts'
import type { Outcome } from '../../src/store/command.ts'
import { CaughtUp } from '../../src/health/caught-up.ts'
import { watchState } from '../../src/state-agreement/state-watch.ts'
import { databaseName } from '../../src/store/disk/database-names.ts'
import { hasNewerDatabase } from '../../src/store/disk/newer-database.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import { isCommand } from '../../src/store/is-command.ts'
import { Store } from '../../src/store/store.ts'
import { featureLevelMax } from '../../src/version.ts'
import { simChannel } from './channel.ts'
import type { Tap } from './channel.ts'
import { SimClock } from './clock.ts'
import type { MachineTime } from './clock.ts'
import { SimulatedCrash, SimulatedStall } from './disk.ts'
import type { SimulatedDisk } from './disk.ts'
import type { StateCondition } from './divergence.ts'
import type { DatabaseReport, SimKeyValueDisk } from './kv.ts'
import type { Network } from './network.ts'
import type { ProcessInstance, Watcher } from './process-instance.ts'
import { stepsFromApi, stepsFromLog, stepsOfReads, stepsToApi, stepsToLog } from './crash-points.ts'
import type { CrashStep, Side } from './crash-points.ts'
import type { Swarm } from './swarm.ts'
import type { Owner, World } from './world.ts'

export type ProcessDependencies = {
  readonly world: World
  readonly network: Network
  readonly watcher: Watcher
  readonly swarm: Swarm
  readonly node: NodeOptions
  /** Wraps the disk of the log, for disks that lose synced data. */
  readonly wrapDisk: (disk: LogDisk) => LogDisk
  readonly disk: SimulatedDisk
  readonly database: SimKeyValueDisk
  readonly peerBook: MemoryPeerBook
  readonly clusterRecord: MemoryClusterRecord
  readonly time: MachineTime
  /** @returns whether the process crashes at this step; then it has ended already */
  readonly step: (steps: readonly CrashStep[], side: Side) => boolean
  readonly state: StateCondition
  /** Called when the process applied entries, or has another state. */
  readonly onState: (machine: StoreMachine) => void
  /** A message between two threads may be delayed. @returns whether it is */
  readonly channelStalls: () => boolean
  /** Called when a disk operation of its log ran into a crash point. */
  readonly crashed: () => void
  /** One of its threads ended by an error. @returns whether that was expected */
  readonly threw: (cause: unknown) => boolean
  /** Called when the process cannot continue, with a one-line reason. */
  readonly failed: (cause: unknown) => void
  /** A peer sent it an impossible message. */
  readonly violated: (peer: number, violation: string) => void
  /** Called once when it learns of its removal. */
  readonly removed: (cause: string) => void
  /** Its damaged log was repaired. */
  readonly logRepaired: () => void
  /** Called when its log was intact at the start. */
  readonly logWhole: () => void
}

/**
 * Builds one process of the real code: three actors, their channels and their ports, and starts
 * them.
 */
export function startProcess(dependencies: ProcessDependencies): ProcessInstance {
  const { world, network, swarm, node, watcher, time } = dependencies
  const caught = (cause: unknown): boolean => {
    if (cause instanceof SimulatedCrash) dependencies.crashed()
    return cause instanceof SimulatedCrash || cause instanceof SimulatedStall || dependencies.threw(cause)
  }
  const owner = (role: string): Owner => ({
    name: `m${node.id}.${role}`,
    alive: true,
    pausedUntil: 0,
    caught,
    waiting: [],
  })
  const [api, raft, log] = [owner('api'), owner('raft'), owner('log')]
  const shared = { world, stalls: dependencies.channelStalls }
  const apiRaft = simChannel<ApiToRaft, RaftToApi>({
    ...{ ...shared, ownerA: api, ownerB: raft, label: 'api-raft', delays: swarm.apiDelays },
    tapAtoB: tap(dependencies, stepsFromApi, () => undefined),
    tapBtoA: tap(dependencies, stepsToApi, (message) => watcher.toApi(node.id, message)),
  })
  const raftLog = simChannel<RaftToLog, LogToRaft>({
    ...{ ...shared, ownerA: raft, ownerB: log, label: 'raft-log', delays: swarm.logDelays },
    tapAtoB: tap(dependencies, stepsToLog, (message) => watcher.toLog(node.id, message)),
    tapBtoA: tap(dependencies, stepsFromLog, (message) => {
      watcher.fromLog(node.id, message)
      if (message.kind === 'damage-repaired') dependencies.logRepaired()
    }),
  })
  const apiLog = simChannel<ApiToLog, LogToApi>({
    ...{ ...shared, ownerA: api, ownerB: log, label: 'api-log', delays: swarm.logDelays },
    tapBtoA: tap(dependencies, stepsOfReads, () => undefined),
  })
  let actor: RaftActor | null = null
  const name = nameOf(node)
  const transport = network.attach(
    {
      ...{ cluster: 'simulated', id: node.id, name, violated: dependencies.violated },
      logRefusedBy: (peer) => actor?.logRefusedBy(peer, `m${peer}`),
      acceptedBy: (peer) => actor?.acceptedBy(peer),
    },
    raft,
  )
  const clock = new SimClock(world, api, 'api', time)
  const lease = new SharedLease()
  const raftNode = new RaftNode<Outcome>({
    ...{ node, clock, random: world.random.fork(), peerBook: dependencies.peerBook },
    clusterRecord: dependencies.clusterRecord,
    ...{ raft: apiRaft.a, reader: new ChannelLogReader(apiLog.a), lease },
    onFatal: (cause) => dependencies.failed(cause),
    onRemoved: (cause) => dependencies.removed(cause),
    onPeerEvent: null,
    close: async () => undefined,
  })
  const instance: ProcessInstance = {
    ...{ owners: [api, raft, log], transport, node: raftNode, clock },
    ...{ machine: null, store: null, caughtUp: null, watch: null, serving: null },
  }
  actor = new RaftActor({
    ...{ node, clock: new SimClock(world, raft, 'raft', time), random: world.random.fork() },
    ...{ transport, api: apiRaft.b, log: raftLog.a, lease, isCommand },
  })
  actor.begin()
  world.schedule(0, 'open', log, () => openLog(dependencies, log, raftLog.b, apiLog.b))
  openMachine(dependencies, instance, api).catch((cause: unknown) => {
    // It was stopped during its start, or its failure was reported already.
    if (cause instanceof ConsensusError && cause.code === 'stopped') return
    if (api.alive) dependencies.failed(cause)
  })
  return instance
}

/** Returns the name of the member, from the initial members or from those given on joining. */
function nameOf({ id, members, joining }: NodeOptions): string {
  const known = [...members, ...(joining?.members ?? [])]
  return present(
    known.find((member) => member.id === id),
    'a started member is in its configuration',
  ).name
}

function tap<M>(
  { step }: ProcessDependencies,
  stepsOf: (message: M) => readonly CrashStep[],
  observe: (message: M) => void,
): Tap<M> {
  return { step: (message, side) => step(stepsOf(message), side), observe }
}

/** Opens the log as the log thread does. */
function openLog(
  dependencies: ProcessDependencies,
  owner: Owner,
  raft: Channel<LogToRaft, RaftToLog>,
  api: Channel<LogToApi, ApiToLog>,
): void {
  const { world, watcher, wrapDisk, disk, node, swarm } = dependencies
  let log: OpenedLog
  try {
    log = openLogOnDisk({
      disk: wrapDisk(disk),
      random: world.random.fork(),
      segmentBytes: swarm.segmentBytes,
      aheadBytes: 4_096,
    })
  } catch (cause) {
    if (!(cause instanceof LogError)) throw cause
    raft.post({ kind: 'failed', code: cause.code, message: cause.message })
    return
  }
  const { store: opened, prepare, wal } = log
  const seen = (store: LogStore): LogStore => {
    watcher.opened(node.id, store)
    return store
  }
  const repaired = (damaged: DamagedLog, repair: LogRepair): LogStore => {
    const store = seen(damaged.repaired(repair))
    dependencies.logRepaired()
    return store
  }
  if (!('log' in opened)) dependencies.logWhole()
  const store =
    'log' in opened ? { ...opened, repaired: (repair: LogRepair) => repaired(opened, repair) } : seen(opened)
  const clock = new SimClock(world, owner, 'log', dependencies.time)
  const onFailed = (): void => undefined
  new LogActor({
    store,
    raft,
    api,
    clock,
    refuse: refuseAltered,
    prepare,
    onFailed,
    scrub: { limits: swarm.logLimits, wal },
  }).start()
}

async function openMachine(
  dependencies: ProcessDependencies,
  instance: ProcessInstance,
  api: Owner,
): Promise<void> {
  const { swarm, database } = dependencies
  const { base, lastIndex, damage: logDamage } = await instance.node.recovered
  const report = (event: DatabaseReport): void => {
    if (api.alive) dependencies.database.user?.report(event)
  }
  dependencies.state.begins()
  const databases = database.mount(api)
  if (logDamage !== null && (await hasNewerDatabase(databases, base.index))) throw new Error(logDamage)
  const machine = await StoreMachine.open({
    databases,
    clock: instance.clock,
    limits: swarm.storeLimits,
    logBase: base,
    logLast: lastIndex,
    onFailure: (cause) => {
      if (api.alive) dependencies.failed(cause)
    },
    onQuarantine: ({ cause, reason }) => report({ kind: 'quarantined', cause, reason }),
    onReplay: () => report({ kind: 'whole', name: null }),
    onInstalled: ({ index }) => report({ kind: 'whole', name: databaseName(index) }),
    mayGive: () => instance.watch?.guard.mayGive() ?? true,
  })
  if (machine.quarantine === null) report({ kind: 'whole', name: null })
  dependencies.onState(machine)
  const look = (): void => {
    if (!api.alive) return
    dependencies.onState(machine)
    serveWhileRight(dependencies, instance, machine)
  }
  // Registered first, so that no client gets a wrong state.
  machine.onApplied(look)
  instance.machine = machine
  instance.store = new Store({
    consensus: instance.node,
    machine,
    clock: instance.clock,
    limits: swarm.storeLimits,
  })
  await instance.node.start(diverging(machine, dependencies.state, look))
  if (!api.alive) return
  instance.caughtUp = new CaughtUp({
    ...{ consensus: instance.node, clock: instance.clock },
    heartbeatMs: dependencies.node.timing.heartbeatMs,
  })
  instance.caughtUp.start()
  guardState(instance, machine, swarm)
  look()
}

/** Returns the real state machine, with a command that may have another effect than elsewhere. */
function diverging(machine: StoreMachine, state: StateCondition, look: () => void): StateMachine<Outcome> {
  return new Proxy<StateMachine<Outcome>>(machine, {
    get: (_, name) => {
      if (name === 'apply') {
        const apply: StateMachine<Outcome>['apply'] = (entries, session) => {
          const settled = machine.apply(state.entries(entries, machine.appliedMemory), session)
          // A suspect state does not notify its listeners.
          if (machine.quarantine !== null) look()
          return settled
        }
        return apply
      }
      if (name === 'installSnapshot') {
        const install: StateMachine<Outcome>['installSnapshot'] = (snapshot) => {
          state.begins()
          return machine.installSnapshot(snapshot)
        }
        return install
      }
      const value: unknown = Reflect.get(machine, name, machine)
      return typeof value === 'function' ? (value.bind(machine) as unknown) : value
    },
  })
}

/** Compares states with other members and verifies the database, as a server does. */
function guardState(instance: ProcessInstance, machine: StoreMachine, { storeLimits }: Swarm): void {
  instance.watch = watchState({
    ...{ machine, consensus: instance.node, clock: instance.clock, log: silent },
    // The operator checks every second, and a run is short.
    ...{ limits: storeLimits, featureLevelMax, operatorTrustMs: 10_000 },
  })
}

const silent = pino({ level: 'silent' })

/**
 * Begins to serve clients once the state can be served, and disconnects them when the state is
 * wrong.
 */
function serveWhileRight(
  { watcher, node, state }: ProcessDependencies,
  instance: ProcessInstance,
  machine: StoreMachine,
): void {
  if (state.isWrong) {
    instance.serving?.cut()
    instance.serving = null
  } else if (instance.watch !== null && instance.serving === null && machine.quarantine === null) {
    instance.serving = watcher.serving(node.id, instance)
  }
}
