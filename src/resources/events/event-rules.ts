import { Findings } from '../../api/errors/findings.ts'
import { invalid, required, spellField } from '../../api/errors/field-error.ts'
import { memberOf, numberMember, objectMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkQualifiedName } from '../../api/metadata/name-rules.ts'
import type { Names } from '../../api/metadata/names.ts'
import { utf8Length } from '../../api/utf8.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { eventSchema } from './event-schema.ts'
import { checkImmutable, isChanged } from '../common/immutable.ts'

/**
 * Validation of events in any version. Causes use the field names of the core group, except for
 * `reportingController`, as upstream's do.
 *
 * @source upstream's `pkg/apis/core/validation/events.go` of release 1.24
 */

/** Name of `reportingComponent` in the version of the request. */
type ReportingName = 'reportingComponent' | 'reportingController'

/** Validates events of every version: an event with `eventTime` must follow the newer rules. */
export function checkEvent(
  event: AnyObject,
  names: Pick<Names, 'systemNamespace'>,
  reporting: ReportingName,
  found: Findings,
): void {
  const namespace = event.metadata.namespace ?? ''
  if (textMember(event, 'eventTime') === '') {
    checkPlace(event, namespace, ['default'], found)
    return
  }
  const { systemNamespace } = names
  if (placeOf(event) === '') checkPlace(event, namespace, ['default', systemNamespace], found)
  checkReporting(textMember(event, 'reportingComponent'), reporting, found)
  for (const name of ['reportingInstance', 'action', 'reason']) checkWord(event, name, found)
  checkLength(event, 'message', noteBytesMax, found)
}

const wordBytesMax = 128
const noteBytesMax = 1024

/**
 * Checks that an event is in the namespace of its object; for cluster-scoped objects, in one of
 * `homes`.
 */
function checkPlace(event: JsonObject, namespace: string, homes: readonly string[], found: Findings): void {
  const involved = placeOf(event)
  const fits = involved === '' ? homes.includes(namespace) : involved === namespace
  if (!fits) found.add(invalid('involvedObject.namespace', involved, 'does not match event.namespace'))
}

function placeOf(event: JsonObject): string {
  return textMember(objectMember(event, 'involvedObject'), 'namespace')
}

function checkReporting(reporter: string, field: ReportingName, found: Findings): void {
  if (reporter === '') found.add(required(field))
  for (const words of checkQualifiedName(reporter)) found.add(invalid(field, reporter, words))
}

function checkWord(event: JsonObject, name: string, found: Findings): void {
  if (textMember(event, name) === '') {
    found.add(required(name))
    return
  }
  checkLength(event, name, wordBytesMax, found)
}

/** The error omits the text: it is too long. */
function checkLength(event: JsonObject, name: string, bytesMax: number, found: Findings): void {
  if (utf8Length(textMember(event, name)) <= bytesMax) return
  found.add(invalid(name, '', `can have at most ${bytesMax} characters`))
}

/**
 * Additional rules for new events of the events group: a series is valid, `eventTime` is set, which
 * lets `checkEvent` require further members, the type is a known one, and no deprecated member is
 * set.
 */
export function checkNewGroupedEvent(event: AnyObject, found: Findings): void {
  checkSeries(event, found)
  if (textMember(event, 'eventTime') === '') found.add(required('eventTime'))
  const type = textMember(event, 'type')
  if (type !== 'Normal' && type !== 'Warning') {
    found.add(invalid('type', '', `has invalid value: ${type.slice(0, wordBytesMax)}`))
  }
  for (const name of ['firstTimestamp', 'lastTimestamp', 'count', 'source']) {
    // Any value of a deprecated member is a change from its absence.
    if (isChanged(eventSchema, name, event, {}))
      found.add(invalid(name, memberOf(event, name), 'needs to be unset'))
  }
}

/** An event of the events group in `v1` is immutable, except for its series and metadata. */
export function checkGroupedEventUpdate(event: AnyObject, before: AnyObject, found: Findings): void {
  if (isChanged(eventSchema, 'series', event, before)) checkSeries(event, found)
  const changed = new Findings()
  checkImmutable(eventSchema, null, { value: event, before }, immutable, changed)
  for (const one of changed.list) {
    const isRenamed = spellField(one.field) === 'reportingComponent'
    found.add(isRenamed ? { ...one, field: 'reportingController' } : one)
  }
}

const immutable = [
  ...['involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'type'],
  ...['eventTime', 'action', 'related', 'reportingComponent', 'reportingInstance'],
]

function checkSeries(event: AnyObject, found: Findings): void {
  if (!Object.hasOwn(event, 'series')) return
  const series = objectMember(event, 'series')
  const count = numberMember(series, 'count') ?? 0
  if (count < 2) found.add(invalid('series.count', count, 'should be at least 2'))
  if (textMember(series, 'lastObservedTime') === '') found.add(required('series.lastObservedTime'))
}
