import { objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { eventColumns } from './events/event-columns.ts'
import { checkEvent } from './events/event-rules.ts'
import { eventSchema } from './events/event-schema.ts'

/** Events about objects; they expire some time after the last write. */
export function eventDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Event',
    plural: 'events',
    singular: 'event',
    shortNames: ['ev'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: eventSchema,
    // Any valid path segment, which is checked for all names.
    validateName: () => [],
    deleteReturnsObject: false,
    putCreates: true,
    selectableFields: [
      ...referenceMembers.map((member) => `involvedObject.${member}`),
      ...['reason', 'reportingComponent', 'type'],
      {
        name: 'source',
        textOf: (event) =>
          textMember(objectMember(event, 'source'), 'component') || textMember(event, 'reportingComponent'),
      },
    ],
    columns: eventColumns,
    hooks: { validate: (event, found) => checkEvent(event, names, 'reportingComponent', found) },
    subresources: [],
  } satisfies ResourceDefinition)
}

/** Fields of the reference to the object that an event is about. */
export const referenceMembers = Object.freeze([
  ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'],
])
