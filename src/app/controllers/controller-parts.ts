import type { Logger } from 'pino'
import type { Clock } from '../../../base/clock.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ControllerName } from '../../config/controllers-flag.ts'
import type { EventRecorder } from '../../controllers/event-recorder.ts'
import type { WorkQueue } from '../../controllers/work-queue.ts'
import { Informer } from '../../registry/informer.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import type { LocalClient } from '../../registry/local-client.ts'
import { prefixOf } from '../../store/key.ts'
import type { ObjectStore, StoredObject } from '../../store/object-store.ts'

/** Work that runs while this member leads. */
export type LeadersWork = { readonly queue: WorkQueue; start(): void; stop(): void }

/** Stops what was started. */
export type Stop = () => void

/** Timeout of one call of a controller. */
export const callMsMax = 30_000

/** Dependencies of all controllers, and how they are run. */
export type ControllerParts = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly log: Logger
  /** The controllers to run. Work that has no `ControllerName` always runs. */
  readonly enabled: ReadonlySet<ControllerName>
  /** Returns a client that acts as the service account of the controller. */
  readonly clientOf: (controller: ControllerName) => LocalClient
  /** Returns the recorder of events that name the controller's account. */
  readonly eventsOf: (controller: ControllerName) => EventRecorder
  /** The client of work that belongs to the server itself. */
  readonly serverClient: LocalClient
  /** The recorder of events about work that belongs to the server itself. */
  readonly serverEvents: EventRecorder
  /**
   * Runs a controller while this member leads, unless it is disabled.
   *
   * @param queueName in metrics. Unset: that of the controller
   */
  readonly switched: (name: ControllerName, work: LeadersWork, queueName?: string) => readonly Stop[]
  /** Runs work that cannot be disabled while this member leads. */
  readonly always: (queueName: string, work: LeadersWork) => Stop
}

/** Follows all objects of a kind of the core group. The caller starts and closes it. */
export function coreInformer<T>(
  { store, clock }: Pick<ControllerParts, 'store' | 'clock'>,
  plural: string,
  parse: (stored: StoredObject) => T,
): Informer<T> {
  return new Informer({ store, clock, parse, prefix: prefixOf({ group: '', plural, namespace: null }) })
}
