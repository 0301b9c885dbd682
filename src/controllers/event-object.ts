import { createHash } from 'node:crypto'
import { formatTime } from '../api/metadata/time.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

/** The object that an event is about. */
export type EventSubject = {
  readonly apiVersion: string
  readonly kind: string
  /** Empty: a cluster-scoped object, whose events are in the namespace `default`. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export type EventText = {
  readonly type: 'Normal' | 'Warning'
  /** Machine-readable, in CamelCase. */
  readonly reason: string
  /** Cut after `messageMax` characters. */
  readonly message: string
  /**
   * Whether the object has at most one event of this reason, whatever the messages of this and
   * other leaders. Unset: an event that is repeated is counted.
   */
  readonly once?: boolean
}

/** Maximum characters of a message. @source upstream `pkg/apis/core/validation`: NoteLengthLimit */
const messageMax = 1024
/** Maximum length of the name of an object in the name of its event; longer ones are cut. */
const nameMax = 200
/** The namespace of events about cluster-scoped objects. */
const clusterEvents = 'default'

/** Returns the namespace of events about an object in `namespace`. */
export function eventNamespace({ namespace }: Pick<EventSubject, 'namespace'>): string {
  return namespace || clusterEvents
}

/** Returns the name of an event. @param identity the same for the same event on every leader */
export function eventName({ name }: Pick<EventSubject, 'name'>, identity: string): string {
  const hash = createHash('sha256').update(identity).digest('hex')
  return `${name.slice(0, nameMax)}.${hash.slice(0, 16)}`
}

/** Returns an event that has happened once. @param identity see `eventName` */
export function newEvent(
  about: EventSubject,
  { type, reason, message }: EventText,
  by: { readonly identity: string; readonly component: string; readonly wallMs: number },
): AnyObject {
  const { apiVersion, kind, namespace, name, uid } = about
  const time = formatTime(by.wallMs)
  return {
    ...{ kind: 'Event', apiVersion: 'v1' },
    metadata: { name: eventName(about, by.identity), namespace: eventNamespace(about) },
    involvedObject: { kind, apiVersion, ...(namespace === '' ? {} : { namespace }), name, uid },
    ...{ type, reason, message: message.slice(0, messageMax) },
    source: { component: by.component },
    ...{ firstTimestamp: time, lastTimestamp: time, count: 1 },
  }
}
