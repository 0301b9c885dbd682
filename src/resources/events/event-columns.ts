import { numberMember, objectMember, textMember } from '../../api/json.ts'
import { nameColumn } from '../../registry/kinds/columns.ts'
import type { AnyObject, Column } from '../../registry/kinds/definition.ts'
import { textColumn } from '../common/text-column.ts'

/**
 * Columns of an event in core form.
 * @source upstream's `pkg/printers/internalversion` printEvent
 */
export const eventColumns: readonly Column[] = Object.freeze([
  ageColumn('Last Seen', 'Time since the event was last seen.', lastSeen),
  textColumn('Type', 'Type of the event, such as Normal or Warning.', (event) => textMember(event, 'type')),
  textColumn('Reason', 'Machine-readable reason, in CamelCase.', (event) => textMember(event, 'reason')),
  textColumn('Object', 'Object that the event is about.', object),
  wide(
    textColumn('Subobject', 'Field path within the object, where the event is about a part of it.', (event) =>
      textMember(objectMember(event, 'involvedObject'), 'fieldPath'),
    ),
  ),
  wide(textColumn('Source', 'Component that reported the event, and its node.', source)),
  textColumn('Message', 'What happened.', (event) => textMember(event, 'message').trim()),
  wide(ageColumn('First Seen', 'Time since the event was first seen.', firstSeen)),
  wide({ name: 'Count', type: 'string', description: 'Number of occurrences.', cell: count }),
  wide(nameColumn),
])

function wide(column: Column): Column {
  return { ...column, priority: 1 }
}

function ageColumn(name: string, description: string, since: (event: AnyObject) => string): Column {
  const cell: Column['cell'] = (event) => ({ since: since(event) || null })
  return { name, type: 'string', description, cell }
}

function firstSeen(event: AnyObject): string {
  return textMember(event, 'firstTimestamp') || textMember(event, 'eventTime')
}

function lastSeen(event: AnyObject): string {
  const series = objectMember(event, 'series')
  return textMember(series, 'lastObservedTime') || textMember(event, 'lastTimestamp') || firstSeen(event)
}

/** Returns the count of an event. A new event of the newer format has no count until it repeats. */
function count(event: AnyObject): number {
  return numberMember(objectMember(event, 'series'), 'count') ?? (numberMember(event, 'count') || 1)
}

function object(event: AnyObject): string {
  const involved = objectMember(event, 'involvedObject')
  const [kind, name] = [textMember(involved, 'kind').toLowerCase(), textMember(involved, 'name')]
  return name === '' ? kind : `${kind}/${name}`
}

function source(event: AnyObject): string {
  const given = objectMember(event, 'source')
  const component = textMember(given, 'component') || textMember(event, 'reportingComponent')
  const host = textMember(given, 'host') || textMember(event, 'reportingInstance')
  return host === '' ? component : `${component}, ${host}`
}
