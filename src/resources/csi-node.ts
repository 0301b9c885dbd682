import type { Findings } from '../api/errors/findings.ts'
import { duplicate, invalid } from '../api/errors/field-error.ts'
import { objectMember, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain, checkQualifiedName } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { int32, listOf, maybe, part, struct, text, texts } from '../api/schema/build.ts'
import { equalUnder } from '../api/schema/equal.ts'
import { fieldAt } from '../api/schema/path.ts'
import type { Path } from '../api/schema/path.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkDriverName } from './volumes/volume-csi.ts'

/** The storage drivers of a node; it has the name of the node. */
export function csiNodeDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('storage'),
    version: 'v1',
    kind: 'CSINode',
    plural: 'csinodes',
    singular: 'csinode',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: csiNodeSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    updateNeedsVersion: true,
    columns: [nameColumn, driversColumn, ageColumn],
    hooks: { fillDefaults, validateUpdate: checkUpdate },
    subresources: [],
  } satisfies ResourceDefinition)
}

/** Upstream's current limit; the CSI specification began with 128. */
const NODE_ID_LENGTH_MAX = 192

const resourcesSchema = struct('storage.v1.VolumeNodeResources', 'Volume limits of a node.', {
  count: int32(1, 'Maximum number of volumes at a time; unlimited when unset.', {
    optional: true,
    minimum: 0,
  }),
})

const driverSchema = struct(
  'storage.v1.CSINodeDriver',
  'A driver that is installed on the node.',
  {
    name: text(1, 'Name of the driver.', { required: true }),
    nodeID: text(2, 'ID of the node in the storage system.', { required: true }),
    topologyKeys: texts(3, 'Node labels that define the topology of the driver.', { always: true }),
    allocatable: maybe(4, resourcesSchema, 'Volume limits of the driver on this node.'),
  },
  { check: checkDriver },
)

const specSchema = struct(
  'storage.v1.CSINodeSpec',
  'The CSI drivers of a node.',
  {
    drivers: listOf(1, driverSchema, 'The drivers, by name.', {
      ...{ required: true, always: true },
      ...{ patchMergeKey: 'name', patchStrategy: 'merge' },
    }),
  },
  { check: checkDistinct },
)

const csiNodeSchema = struct('storage.v1.CSINode', 'The CSI drivers that are installed on a node.', {
  spec: part(2, specSchema, 'The CSI drivers of the node.', { required: true, always: true }),
})

const driversColumn: Column = {
  name: 'Drivers',
  type: 'integer',
  description: 'Number of drivers on the node.',
  cell: (object) => driversOf(object).length,
}

function driversOf(object: AnyObject): readonly JsonObject[] {
  return objectsMember(objectMember(object, 'spec'), 'drivers')
}

/** A missing list of drivers becomes an empty one. */
function fillDefaults(object: AnyObject): AnyObject {
  const spec = objectMember(object, 'spec')
  return Object.hasOwn(spec, 'drivers') ? object : { ...object, spec: { ...spec, drivers: [] } }
}

/** @source upstream `pkg/apis/storage/validation`, validateCSINodeDriver */
function checkDriver(driver: JsonObject, at: Path | null, found: Findings): void {
  checkDriverName(textMember(driver, 'name'), fieldAt(at, 'name'), found)
  const nodeID = textMember(driver, 'nodeID')
  if (nodeID.length > NODE_ID_LENGTH_MAX) {
    found.add(invalid(fieldAt(at, 'nodeID'), nodeID, `must be ${NODE_ID_LENGTH_MAX} characters or less`))
  }
  const field = fieldAt(at, 'topologyKeys')
  const seen = new Set<string>()
  for (const key of textsMember(driver, 'topologyKeys')) {
    if (seen.has(key)) found.add(duplicate(field, key))
    seen.add(key)
    for (const words of checkQualifiedName(key)) found.add(invalid(field, key, words))
  }
}

function checkDistinct(spec: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  for (const [index, driver] of objectsMember(spec, 'drivers').entries()) {
    const name = textMember(driver, 'name')
    if (seen.has(name)) found.add(duplicate(fieldAt(at, 'drivers', index, 'name'), name))
    seen.add(name)
  }
}

/** Drivers may be added and removed; an existing one is immutable. */
function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const before = new Map(driversOf(current).map((driver) => [textMember(driver, 'name'), driver]))
  for (const [index, driver] of [...driversOf(object).entries()]) {
    const old = before.get(textMember(driver, 'name'))
    if (old === undefined || equalUnder(driverSchema, driver, old)) continue
    found.add(invalid(`spec.drivers[${index}]`, driver, 'field is immutable'))
  }
}
