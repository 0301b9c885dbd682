import type { JsonObject } from '../../api/json.ts'
import { applyDefaults } from '../../api/schema/default.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { AnyObject, StoredVersion } from '../../registry/kinds/definition.ts'
import { eventSchema, groupedEventSchema } from './event-schema.ts'

/** Members with different names in the two groups: core, events. */
const renamed = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
] as const

const groupedNames = new Map<string, string>(renamed)
const coreNames = new Map<string, string>(renamed.map(([core, grouped]) => [grouped, core]))
/** Fields that are always present in the core form and optional in the other. */
const omittedWhenEmpty = ['reportingController', 'reportingInstance']

/** Converts an event of the events group to the core form, except for apiVersion. */
export function coreEventOf(event: AnyObject): AnyObject {
  return converted(event, coreNames, eventSchema)
}

/** The inverse of `coreEventOf`. */
export function groupedEventOf(event: AnyObject): AnyObject {
  const grouped = converted(event, groupedNames, groupedEventSchema)
  const { apiVersion, kind, metadata, ...rest } = grouped
  const given = Object.entries(rest).filter(
    ([name, value]) => value !== '' || !omittedWhenEmpty.includes(name),
  )
  return { apiVersion, kind, metadata, ...Object.fromEntries(given) }
}

export const eventConversion: Required<StoredVersion>['conversion'] = Object.freeze({
  toStored: coreEventOf,
  fromStored: groupedEventOf,
})

function converted(event: AnyObject, names: ReadonlyMap<string, string>, schema: ObjectSchema): AnyObject {
  const { apiVersion, kind, metadata, ...rest } = event
  const members: JsonObject = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [names.get(name) ?? name, value]),
  )
  return { apiVersion, kind, metadata, ...applyDefaults(schema, members) }
}
