import type { Findings } from '../api/errors/findings.ts'
import { memberOf, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { maybe, quantity, struct, text } from '../api/schema/build.ts'
import { fieldAt } from '../api/schema/path.ts'
import type { Path } from '../api/schema/path.ts'
import { nameColumn } from '../registry/kinds/columns.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkNotNegative } from './common/amounts.ts'
import { checkImmutable } from './common/immutable.ts'
import { selectorSchema } from './common/selector.ts'
import { textColumn } from './common/text-column.ts'

/** The available storage of a class in a part of the cluster. */
export function csiStorageCapacityDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('storage'),
    version: 'v1',
    kind: 'CSIStorageCapacity',
    plural: 'csistoragecapacities',
    singular: 'csistoragecapacity',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: capacitySchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    columns: [
      nameColumn,
      textColumn('StorageClassName', 'The class.', (object) => textMember(object, 'storageClassName')),
      textColumn('Capacity', 'Available capacity.', (object) => {
        const capacity = memberOf(object, 'capacity')
        return typeof capacity === 'string' ? capacity : '<unset>'
      }),
    ],
    hooks: {
      validateUpdate: (object, current, found) => {
        const of = { value: object, before: current }
        checkImmutable(capacitySchema, null, of, ['nodeTopology', 'storageClassName'], found)
      },
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

const capacitySchema = struct(
  'storage.v1.CSIStorageCapacity',
  'Available storage of a class in one part of the cluster.',
  {
    nodeTopology: maybe(
      2,
      selectorSchema,
      'Nodes with access to the storage; no nodes when unset, all nodes when empty.',
    ),
    storageClassName: text(3, 'Name of the StorageClass.', { required: true, rule: checkDns1123Subdomain }),
    capacity: quantity(4, 'Available capacity; unknown when unset.', { optional: true }),
    maximumVolumeSize: quantity(5, 'Maximum size of one volume; unknown when unset.', {
      optional: true,
    }),
  },
  { check: checkAmounts },
)

function checkAmounts(object: JsonObject, at: Path | null, found: Findings): void {
  for (const name of ['capacity', 'maximumVolumeSize'])
    checkNotNegative(textMember(object, name), fieldAt(at, name), found)
}
