import type { ApiErrorCause } from '../api/api-error.ts'
import { invalid, required } from '../api/field-error.ts'
import { memberOf, numberMember, objectMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkQualifiedName } from '../api/name-rules.ts'
import type { Names } from '../api/names.ts'
import { utf8Length } from '../api/utf8.ts'
import type { AnyObject } from '../registry/definition.ts'
import { eventSchema } from './event-schema.ts'
import { checkImmutable, isChanged } from './parts/immutable.ts'

/**
 * The rules of events, all of them of an event as the core group has it, whose names the causes name too, as upstream's do.
 *
 * @source facts/validation-notes.json Event; upstream's `pkg/apis/core/validation/events.go` of release 1.24
 */

/** What `reportingComponent` is called in the version that was asked for. */
type ReportingName = 'reportingComponent' | 'reportingController'

/** Of every event in every version: what says `eventTime` follows the newer rules. */
export function checkEvent(
  event: AnyObject,
  names: Pick<Names, 'systemNamespace'>,
  reporting: ReportingName,
): readonly ApiErrorCause[] {
  const namespace = event.metadata.namespace ?? ''
  if (textMember(event, 'eventTime') === '') return checkPlace(event, namespace, ['default'])
  const { systemNamespace } = names
  return [
    ...(placeOf(event) === '' ? checkPlace(event, namespace, ['default', systemNamespace]) : []),
    ...checkReporting(textMember(event, 'reportingComponent'), reporting),
    ...['reportingInstance', 'action', 'reason'].flatMap((name) => checkWord(event, name)),
    ...checkLength(event, 'message', noteBytesMax),
  ]
}

const wordBytesMax = 128
const noteBytesMax = 1024

/** An event lies where its object does; those of objects without a namespace where `homes` say. */
function checkPlace(
  event: JsonObject,
  namespace: string,
  homes: readonly string[],
): readonly ApiErrorCause[] {
  const involved = placeOf(event)
  const fits = involved === '' ? homes.includes(namespace) : involved === namespace
  return fits ? [] : [invalid('involvedObject.namespace', involved, 'does not match event.namespace')]
}

function placeOf(event: JsonObject): string {
  return textMember(objectMember(event, 'involvedObject'), 'namespace')
}

function checkReporting(reporter: string, field: ReportingName): readonly ApiErrorCause[] {
  const missing = reporter === '' ? [required(field)] : []
  return [...missing, ...checkQualifiedName(reporter).map((words) => invalid(field, reporter, words))]
}

function checkWord(event: JsonObject, name: string): readonly ApiErrorCause[] {
  if (textMember(event, name) === '') return [required(name)]
  return checkLength(event, name, wordBytesMax)
}

/** The text is not told again: it is too long. */
function checkLength(event: JsonObject, name: string, bytesMax: number): readonly ApiErrorCause[] {
  if (utf8Length(textMember(event, name)) <= bytesMax) return []
  return [invalid(name, '', `can have at most ${bytesMax} characters`)]
}

/** What a new event of `v1` of the group of events is besides: whole, and without what is out of date. */
export function checkNewGroupedEvent(event: AnyObject): readonly ApiErrorCause[] {
  const causes: ApiErrorCause[] = [...checkSeries(event)]
  if (textMember(event, 'eventTime') === '') causes.push(required('eventTime'))
  const type = textMember(event, 'type')
  if (type !== 'Normal' && type !== 'Warning') {
    causes.push(invalid('type', '', `has invalid value: ${type.slice(0, wordBytesMax)}`))
  }
  for (const name of ['firstTimestamp', 'lastTimestamp', 'count', 'source']) {
    // Whatever is said of it differs from nothing.
    if (isChanged(eventSchema, name, event, {}))
      causes.push(invalid(name, memberOf(event, name), 'needs to be unset'))
  }
  return causes
}

/** An event of `v1` of the group of events only goes on: with its series, and metadata. */
export function checkGroupedEventUpdate(event: AnyObject, before: AnyObject): readonly ApiErrorCause[] {
  const series = isChanged(eventSchema, 'series', event, before) ? checkSeries(event) : []
  const causes = checkImmutable(eventSchema, null, { value: event, before }, immutable)
  const spelled = causes.map((cause) =>
    cause.field === 'reportingComponent' ? { ...cause, field: 'reportingController' } : cause,
  )
  return [...series, ...spelled]
}

const immutable = [
  ...['involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'type'],
  ...['eventTime', 'action', 'related', 'reportingComponent', 'reportingInstance'],
]

function checkSeries(event: AnyObject): readonly ApiErrorCause[] {
  if (!Object.hasOwn(event, 'series')) return []
  const series = objectMember(event, 'series')
  const count = numberMember(series, 'count') ?? 0
  const causes: ApiErrorCause[] = []
  if (count < 2) causes.push(invalid('series.count', count, 'should be at least 2'))
  if (textMember(series, 'lastObservedTime') === '') causes.push(required('series.lastObservedTime'))
  return causes
}
