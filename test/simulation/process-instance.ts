import type { LogToRaft, RaftToLog } from '../../raft/log/log-protocol.ts'
import type { RaftNode } from '../../raft/node/node.ts'
import type { RaftToApi } from '../../raft/protocol/thread-messages.ts'
import type { LogStore } from '../../raft/ports.ts'
import type { CaughtUp } from '../../src/health/caught-up.ts'
import type { StateWatch } from '../../src/state-agreement/state-watch.ts'
import type { Outcome } from '../../src/store/command.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import type { Store } from '../../src/store/store.ts'
import type { SimClock } from './clock.ts'
import type { SimTransport } from './network.ts'
import type { Owner } from './world.ts'

/** Callbacks to the checkers about one member. */
export interface Watcher {
  opened(member: number, log: LogStore): void
  toLog(member: number, message: RaftToLog): void
  fromLog(member: number, message: LogToRaft): void
  toApi(member: number, message: RaftToApi): void
  applied(member: number, machine: StoreMachine): void
  /** Returns whether a state, served or not, is right. */
  isRight(machine: StoreMachine): boolean
  /** Returns whether all digests that it reports were right at their index. */
  reportsRight(machine: StoreMachine): boolean
  /** Called when the store can be read. Returns the service that it begins. */
  serving(member: number, instance: ProcessInstance): Serving
}

/** The service of one process to clients. */
export interface Serving {
  /** Drains: responses in progress are sent. */
  close(): void
  /** Drops all of its further responses. */
  cut(): void
}

/** A running process. */
export type ProcessInstance = {
  readonly owners: readonly Owner[]
  readonly transport: SimTransport
  readonly node: RaftNode<Outcome>
  readonly clock: SimClock
  /**
   * `machine` and `store`: null until the database is open; `caughtUp` and `watch`: until the node
   * has started.
   */
  machine: StoreMachine | null
  store: Store | null
  caughtUp: CaughtUp | null
  watch: StateWatch | null
  /** null while no clients are served. */
  serving: Serving | null
}

/** Checks nothing. */
export const ignoringObserver: Watcher = {
  opened: () => undefined,
  toLog: () => undefined,
  fromLog: () => undefined,
  toApi: () => undefined,
  applied: () => undefined,
  isRight: () => true,
  reportsRight: () => true,
  serving: () => ({ close: () => undefined, cut: () => undefined }),
}
