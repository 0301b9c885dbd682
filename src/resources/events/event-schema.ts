import { int32, maybe, microTime, part, struct, text, time } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { objectReferenceSchema } from '../common/object-reference.ts'

const sourceSchema = struct('core.v1.EventSource', 'Who told of an event, as programs did first.', {
  component: text(1, 'The program.'),
  host: text(2, 'Where it runs.'),
})

/** As the core group has it, which is how events are stored. */
export const eventSchema = struct('core.v1.Event', 'Something that happened to an object.', {
  involvedObject: part(2, objectReferenceSchema, 'The object.', { required: true, always: true }),
  reason: text(3, 'Why, in one word that programs can compare.'),
  message: text(4, 'What happened, for people.'),
  source: part(5, sourceSchema, 'Who told it.'),
  firstTimestamp: time(6, 'When it happened first.'),
  lastTimestamp: time(7, 'When it happened last.'),
  count: int32(8, 'How often it happened.'),
  type: text(9, 'Normal, Warning, or another word.'),
  eventTime: microTime(10, 'When it was seen first; an event that says it follows the newer rules.'),
  series: maybe(
    11,
    struct('core.v1.EventSeries', 'How often an event happened so far.', {
      count: int32(1, 'How often.'),
      lastObservedTime: microTime(2, 'When it was seen last.'),
    }),
    'Set once it happened again.',
  ),
  action: text(12, 'What was done about the object, or failed.'),
  related: maybe(13, objectReferenceSchema, 'Another object that has to do with it.'),
  reportingComponent: text(14, 'The program that told it, such as example.com/scheduler.', { always: true }),
  reportingInstance: text(15, 'Which process of that program.', { always: true }),
})

const groupedSeriesSchema = struct('events.v1.EventSeries', 'How often an event happened so far.', {
  count: int32(1, 'How often: at least twice.', { required: true, always: true }),
  lastObservedTime: microTime(2, 'When it was seen last; has to be said.'),
})

const older = 'What the core group calls'

/** As the group of events has it: the same by newer names, and what those replaced. */
export const groupedEventSchema = groupedSchema('events.v1.Event')
/** Of the same shape. */
export const betaEventSchema = groupedSchema('events.v1beta1.Event')

function groupedSchema(definition: string): ObjectSchema {
  return struct(definition, 'Something that happened to an object.', {
    eventTime: microTime(2, 'When it was seen first; in v1 a new event has to say it.'),
    series: maybe(3, groupedSeriesSchema, 'Set once it happened again.'),
    reportingController: text(4, 'The program that told it, such as example.com/scheduler.'),
    reportingInstance: text(5, 'Which process of that program; at most 128 bytes.'),
    action: text(6, 'What was done about the object, or failed; at most 128 bytes.'),
    reason: text(7, 'Why, in one word that programs can compare; at most 128 bytes.'),
    regarding: part(8, objectReferenceSchema, 'The object.'),
    related: maybe(9, objectReferenceSchema, 'Another object that has to do with it.'),
    note: text(10, 'What happened, for people; at most 1024 bytes.'),
    type: text(11, 'Normal or Warning.'),
    deprecatedSource: part(12, sourceSchema, `${older} source; v1 takes no new event with it.`),
    deprecatedFirstTimestamp: time(13, `${older} firstTimestamp; v1 takes no new event with it.`),
    deprecatedLastTimestamp: time(14, `${older} lastTimestamp; v1 takes no new event with it.`),
    deprecatedCount: int32(15, `${older} count; v1 takes no new event with it.`),
  })
}
