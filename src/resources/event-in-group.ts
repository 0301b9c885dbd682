import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { coreEventOf, eventConversion } from './events/event-conversion.ts'
import { checkEvent, checkGroupedEventUpdate, checkNewGroupedEvent } from './events/event-rules.ts'
import { betaEventSchema, groupedEventSchema } from './events/event-schema.ts'
import { eventDefinition, referenceMembers } from './event.ts'

/**
 * Events in their own API group, which is newer than the core group. They are stored as events of
 * the core group. `v1` has stricter rules; `v1beta1` follows those of the core group.
 */
export function groupedEventDefinition(names: Names, version: 'v1' | 'v1beta1'): ResourceDefinition {
  const core = eventDefinition(names)
  const group = names.group('events')
  const isStrict = version === 'v1'
  return Object.freeze({
    ...core,
    ...{ group, version },
    schema: isStrict ? groupedEventSchema : betaEventSchema,
    storedAs: { name: core.version, group: core.group, conversion: eventConversion },
    ...(isStrict ? { validateName: checkDns1123Subdomain } : { deprecated: deprecatedIn(group) }),
    selectableFields: [
      ...referenceMembers.map((member) => `regarding.${member}`),
      ...['reason', 'reportingController', 'type'],
    ],
    columns: (core.columns ?? []).map((column) => ({
      ...column,
      cell: (event) => column.cell(coreEventOf(event)),
    })),
    hooks: {
      validate: (event, found) => checkEvent(coreEventOf(event), names, 'reportingController', found),
      ...(isStrict ? strictHooks : {}),
    },
  } satisfies ResourceDefinition)
}

const strictHooks: ResourceDefinition['hooks'] = {
  validateNew: (event, found) => checkNewGroupedEvent(coreEventOf(event), found),
  validateUpdate: (event, current, found) =>
    checkGroupedEventUpdate(coreEventOf(event), coreEventOf(current), found),
}

function deprecatedIn(group: string): ResourceDefinition['deprecated'] & object {
  return { since: '1.22', removed: '1.25', replacement: { group, version: 'v1', kind: 'Event' } }
}
