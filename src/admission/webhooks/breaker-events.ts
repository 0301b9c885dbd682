import type { Names } from '../../api/metadata/names.ts'
import { formatTime } from '../../api/metadata/time.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { BreakerState } from '../../outward/circuit-breaker.ts'
import type { CompiledWebhook } from './compiled-webhook.ts'
import { kindOfConfiguration } from './denial.ts'

/** Characters of the cause in an event. Longer: cut. */
const WHY_LENGTH_MAX = 700

/** The namespace of events about cluster-scoped objects, as upstream. */
export const EVENT_NAMESPACE = 'default'

/** Returns the event on a configuration for a circuit breaker that opened or closed. */
export function breakerEvent(of: {
  readonly names: Names
  readonly webhook: CompiledWebhook
  readonly state: BreakerState
  /** The last failure; empty: none. */
  readonly why: string
  readonly member: string
  readonly wallMs: number
  /** Makes the name of the event unique. */
  readonly suffix: string
}): AnyObject {
  const { names, webhook, state, why, member, wallMs, suffix } = of
  const isClosed = state === 'closed'
  const { name, failurePolicy, type } = webhook
  const effect =
    failurePolicy === 'Fail'
      ? 'the requests that it is called for are rejected until it responds'
      : 'requests skip it until it responds'
  const message = isClosed
    ? `webhook ${name} responds again`
    : `webhook ${name} failed several times in a row, ${effect}: ${why.slice(0, WHY_LENGTH_MAX)}`
  const time = formatTime(wallMs)
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name: `${webhook.configuration.slice(0, 200)}.${suffix}`, namespace: EVENT_NAMESPACE },
    involvedObject: {
      kind: kindOfConfiguration(type),
      apiVersion: `${names.group('admissionregistration')}/v1`,
      name: webhook.configuration,
      uid: webhook.configurationUid,
    },
    reason: isClosed ? 'WebhookRecovered' : 'WebhookFailing',
    message,
    source: { component: 'apiserver', host: member },
    type: isClosed ? 'Normal' : 'Warning',
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  }
}
