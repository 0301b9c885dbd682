import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { ApiError } from '../api/errors/api-error.ts'
import { tooManyRequests } from '../api/errors/standard-errors.ts'
import { shortText } from '../api/errors/short-text.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionContext } from '../registry/calls/admission-context.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { AdmissionPlugin } from './chain.ts'
import type { ConfigurationShape } from './plugin-configuration.ts'

export const EVENT_LIMIT_TYPES = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const
export type EventLimitType = (typeof EVENT_LIMIT_TYPES)[number]

export type EventLimit = {
  readonly type: EventLimitType
  /** Events per second, and how many may come at once. */
  readonly qps: number
  readonly burst: number
  /**
   * Maximum number of keys that are remembered; beyond it, the least recently used ones are
   * dropped.
   */
  readonly cacheSize: number
}

const LIMIT_MEMBERS: readonly string[] = ['type', 'qps', 'burst', 'cacheSize']
const CACHE_SIZE = 4096
const CACHE_SIZE_MAX = 1_000_000
const RETRY_AFTER_SECONDS = 1

/** Limits of a server that has no configuration. */
const DEFAULT_LIMITS: readonly EventLimit[] = [{ type: 'Server', qps: 500, burst: 5000, cacheSize: 1 }]

export type EventRateLimitDependencies = {
  readonly names: Names
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly limits: readonly EventLimit[]
}

/**
 * Limits the rate of events that this member accepts: of all together, of a namespace, of a user,
 * or of a source about an object. An event takes a token from every limit.
 *
 * @source upstream `plugin/pkg/admission/eventratelimit`
 */
export function eventRateLimit({ names, clock, limits }: EventRateLimitDependencies): AdmissionPlugin {
  const enforced = limits.map((limit) => ({ limit, buckets: new Buckets(limit) }))
  // A request takes its tokens once, however often it is evaluated.
  const decided = new WeakMap<AdmissionContext, ApiError | null>()
  const groups = ['', names.group('events')]
  return {
    name: 'EventRateLimit',
    validate: (request) => {
      const { definition, operation, object, context } = request
      if (object === null || definition.plural !== 'events' || !groups.includes(definition.group)) return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      // A dry run stores nothing, and must have no effect on the requests after it.
      if (request.options.dryRun) return
      let refusal = decided.get(context)
      if (refusal === undefined) {
        const now = clock.monotonicMs()
        const full = enforced.filter(
          ({ limit, buckets }) => !buckets.take(keyOf(limit.type, request, object), now),
        )
        const words = full.map(
          ({ limit: { type } }) => `limit reached on type ${type} for key ${keyOf(type, request, object)}`,
        )
        const [first = ''] = words
        refusal =
          words.length === 0
            ? null
            : tooManyRequests(RETRY_AFTER_SECONDS, words.length === 1 ? first : `[${words.join(', ')}]`)
        decided.set(context, refusal)
      }
      if (refusal !== null) throw refusal
    },
  }
}

function keyOf(type: EventLimitType, { context, target }: AdmissionRequest, event: AnyObject): string {
  switch (type) {
    case 'Server':
      return ''
    case 'Namespace':
      return target.namespace ?? ''
    case 'User':
      return context.request.user.name
    case 'SourceAndObject': {
      const about = objectMember(event, hasMember(event, 'regarding') ? 'regarding' : 'involvedObject')
      const fields = ['kind', 'namespace', 'name', 'uid', 'apiVersion'].map((name) => textMember(about, name))
      return shortKey([...sourceOf(event), ...fields].join(''))
    }
  }
}

/** Returns the names that identify the source of an event, which may be of either API group. */
function sourceOf(event: AnyObject): readonly string[] {
  const source = objectMember(event, hasMember(event, 'deprecatedSource') ? 'deprecatedSource' : 'source')
  const parts = [textMember(source, 'component'), textMember(source, 'host')]
  if (parts.join('') !== '') return parts
  const component = textMember(event, 'reportingController') || textMember(event, 'reportingComponent')
  return [component, textMember(event, 'reportingInstance')]
}

function hasMember(event: AnyObject, name: string): boolean {
  return memberOf(event, name) !== undefined
}

const KEY_LENGTH_MAX = 256

/** Shortens a long key to its beginning and a hash, because clients choose the names in events. */
function shortKey(key: string): string {
  if (key.length <= KEY_LENGTH_MAX) return key
  return shortText(key, KEY_LENGTH_MAX / 2) + createHash('sha256').update(key).digest('hex')
}

/** Token buckets by key, in the order of their last use. */
class Buckets {
  readonly #limit: EventLimit
  readonly #byKey = new Map<string, { tokens: number; atMs: number }>()

  constructor(limit: EventLimit) {
    this.#limit = limit
  }

  /** Returns whether there was a token. */
  take(key: string, nowMs: number): boolean {
    const { qps, burst, cacheSize } = this.#limit
    const bucket = this.#byKey.get(key) ?? { tokens: burst, atMs: nowMs }
    this.#byKey.delete(key)
    this.#byKey.set(key, bucket)
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * qps)
    bucket.atMs = nowMs
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size <= cacheSize) break
      this.#byKey.delete(oldest)
    }
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }
}

/** @source apiserver `plugin/pkg/admission/eventratelimit/apis` */
export function eventLimitsShape(names: Names): ConfigurationShape {
  const apiVersions = [`${names.group('eventratelimit.admission')}/v1alpha1`]
  return { kind: 'Configuration', apiVersions, members: ['limits'] }
}

/**
 * Reads the `limits` of an `eventratelimit.admission` Configuration.
 *
 * @param given null: no configuration
 * @param problem called with each thing that is wrong
 */
export function readEventLimits(
  given: JsonObject | null,
  problem: (words: string) => void,
): readonly EventLimit[] {
  if (given === null) return DEFAULT_LIMITS
  const limits = objectsMember(given, 'limits')
  if (limits.length === 0) problem('limits: Required value: at least one limit')
  return limits.flatMap((limit, at) => {
    for (const name of Object.keys(limit)) {
      if (!LIMIT_MEMBERS.includes(name)) problem(`limits[${at}].${name}: unknown field`)
    }
    const type = EVENT_LIMIT_TYPES.find((one) => one === textMember(limit, 'type'))
    if (type === undefined) problem(`limits[${at}].type: must be one of ${EVENT_LIMIT_TYPES.join(', ')}`)
    const numberOf = (name: string, fallback: number | null, max: number): number => {
      const value = numberMember(limit, name) ?? fallback
      if (value !== null && Number.isInteger(value) && value > 0 && value <= max) return value
      problem(`limits[${at}].${name}: must be a whole number from 1 to ${max}`)
      return 1
    }
    const [qps, burst] = [numberOf('qps', null, 1_000_000), numberOf('burst', null, 1_000_000)]
    const cacheSize = numberOf('cacheSize', CACHE_SIZE, CACHE_SIZE_MAX)
    return type === undefined ? [] : [{ type, qps, burst, cacheSize }]
  })
}
