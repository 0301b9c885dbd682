import { int32, maybe, microTime, part, struct, text, time } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { objectReferenceSchema } from '../common/object-reference.ts'

const sourceSchema = struct('core.v1.EventSource', 'Source of an event in the older format.', {
  component: text(1, 'Component that reported the event.'),
  host: text(2, 'Node of the component.'),
})

/** The core form, in which events are stored. */
export const eventSchema = struct('core.v1.Event', 'An event about an object.', {
  involvedObject: part(2, objectReferenceSchema, 'The object that the event is about.', {
    required: true,
    always: true,
  }),
  reason: text(3, 'Machine-readable reason, in CamelCase.'),
  message: text(4, 'Human-readable description.'),
  source: part(5, sourceSchema, 'Component that reported the event.'),
  firstTimestamp: time(6, 'Time of the first occurrence.'),
  lastTimestamp: time(7, 'Time of the last occurrence.'),
  count: int32(8, 'Number of occurrences.'),
  type: text(9, 'Type of the event, such as Normal or Warning.'),
  eventTime: microTime(
    10,
    'Time of the first observation; setting it selects the validation of the events group.',
  ),
  series: maybe(
    11,
    struct('core.v1.EventSeries', 'A series of occurrences of an event.', {
      count: int32(1, 'Number of occurrences.'),
      lastObservedTime: microTime(2, 'Time of the last occurrence.'),
    }),
    'The series of a repeated event.',
  ),
  action: text(12, 'Action that was taken or failed.'),
  related: maybe(13, objectReferenceSchema, 'A related object.'),
  reportingComponent: text(14, 'Controller that reported the event, such as example.com/scheduler.', {
    always: true,
  }),
  reportingInstance: text(15, 'Instance of the controller.', { always: true }),
})

const groupedSeriesSchema = struct('events.v1.EventSeries', 'A series of occurrences of an event.', {
  count: int32(1, 'Number of occurrences, at least 2.', { required: true, always: true }),
  lastObservedTime: microTime(2, 'Time of the last occurrence; required.'),
})

/** Describes a member that only events of the core group should have. */
const older = (name: string): string => `Named ${name} in the core group; new events in v1 must not have it.`

/** The form of the events group: the same members by newer names, and deprecated ones. */
export const groupedEventSchema = groupedSchema('events.v1.Event')
/** The same schema as `events.v1.Event`. */
export const betaEventSchema = groupedSchema('events.v1beta1.Event')

function groupedSchema(definition: string): ObjectSchema {
  return struct(definition, 'An event about an object.', {
    eventTime: microTime(2, 'Time of the first observation; required for new events in v1.'),
    series: maybe(3, groupedSeriesSchema, 'The series of a repeated event.'),
    reportingController: text(4, 'Controller that reported the event, such as example.com/scheduler.'),
    reportingInstance: text(5, 'Instance of the controller; at most 128 bytes.'),
    action: text(6, 'Action that was taken or failed; at most 128 bytes.'),
    reason: text(7, 'Machine-readable reason, in CamelCase; at most 128 bytes.'),
    regarding: part(8, objectReferenceSchema, 'The object that the event is about.'),
    related: maybe(9, objectReferenceSchema, 'A related object.'),
    note: text(10, 'Human-readable description; at most 1024 bytes.'),
    type: text(11, 'Type of the event: Normal or Warning.'),
    deprecatedSource: part(12, sourceSchema, older('source')),
    deprecatedFirstTimestamp: time(13, older('firstTimestamp')),
    deprecatedLastTimestamp: time(14, older('lastTimestamp')),
    deprecatedCount: int32(15, older('count')),
  })
}
