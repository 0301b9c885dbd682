import type { Findings } from '../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid, tooLong, tooMany } from '../api/errors/field-error.ts'
import { memberOf, objectMember, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain, checkQualifiedName } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, listOf, struct, text, textMap, texts } from '../api/schema/build.ts'
import type { Path } from '../api/schema/path.ts'
import { fieldAt } from '../api/schema/path.ts'
import { utf8Length } from '../api/utf8.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable, isChanged } from './common/immutable.ts'
import { textColumn } from './common/text-column.ts'

/** The parameters for provisioning volumes for claims of this class. @source spec 2.8 */
export function storageClassDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('storage'),
    version: 'v1',
    kind: 'StorageClass',
    plural: 'storageclasses',
    singular: 'storageclass',
    shortNames: ['sc'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: storageClassSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    columns: columnsFor(names),
    hooks: { validate: checkParameters, validateUpdate: checkUpdate },
    subresources: [],
  } satisfies ResourceDefinition)
}

const PARAMETERS_MAX = 512
/** Limit on keys and values together, in bytes. */
const PARAMETERS_BYTES_MAX = 256 * 1024

const requirementSchema = struct(
  'core.v1.TopologySelectorLabelRequirement',
  'A requirement on one topology label.',
  {
    key: text(1, 'Key of the label.', { required: true }),
    values: texts(2, 'Allowed values of the label.', { required: true }),
  },
)

const termSchema = struct(
  'core.v1.TopologySelectorTerm',
  'Topology requirements that must all match; an empty term matches everything.',
  { matchLabelExpressions: listOf(1, requirementSchema, 'Requirements on labels.') },
  { mapType: 'atomic', check: checkTerm },
)

const storageClassSchema = struct(
  'storage.v1.StorageClass',
  'A class of storage: how volumes are provisioned for its claims.',
  {
    provisioner: text(2, 'Name of the provisioner.', {
      required: true,
      rule: (name) => checkQualifiedName(name.toLowerCase()),
    }),
    parameters: textMap(3, 'Parameters of the provisioner.'),
    reclaimPolicy: text(4, 'Reclaim policy of provisioned volumes: Delete or Retain.', {
      optional: true,
      enum: ['Delete', 'Retain'],
      default: 'Delete',
    }),
    mountOptions: texts(5, 'Mount options of the volumes; validated only when mounting.'),
    allowVolumeExpansion: flag(6, 'Whether volumes can be expanded.', { optional: true }),
    volumeBindingMode: text(7, 'Binding mode: Immediate, or WaitForFirstConsumer to wait for a Pod.', {
      optional: true,
      enum: ['Immediate', 'WaitForFirstConsumer'],
      default: 'Immediate',
    }),
    allowedTopologies: listOf(8, termSchema, 'Topologies for provisioning; at least one term must match.', {
      listType: 'atomic',
    }),
  },
  { check: checkTopologies },
)

function columnsFor(names: Names): readonly Column[] {
  return [
    {
      ...nameColumn,
      description: 'Name of the class, with a mark on the default class.',
      cell: (object) => `${object.metadata.name ?? ''}${isDefault(object, names) ? ' (default)' : ''}`,
    },
    textColumn('Provisioner', 'Name of the provisioner.', (object) => textMember(object, 'provisioner')),
    textColumn('ReclaimPolicy', 'Reclaim policy of provisioned volumes.', (object) =>
      textMember(object, 'reclaimPolicy'),
    ),
    textColumn('VolumeBindingMode', 'When volumes are provisioned and bound.', (object) =>
      textMember(object, 'volumeBindingMode'),
    ),
    {
      name: 'AllowVolumeExpansion',
      type: 'string',
      description: 'Whether volumes can be expanded.',
      cell: (object) => memberOf(object, 'allowVolumeExpansion') === true,
    },
    ageColumn,
  ]
}

function isDefault(object: AnyObject, names: Names): boolean {
  const keys = ['storageclass', 'storageclass.beta'].map((prefix) =>
    names.labelUnder(prefix, 'is-default-class'),
  )
  return keys.some((key) => object.metadata.annotations?.[key] === 'true')
}

function checkParameters(object: AnyObject, found: Findings): void {
  const parameters = objectMember(object, 'parameters')
  const keys = Object.keys(parameters)
  if (keys.length > PARAMETERS_MAX) {
    found.add(tooMany('parameters', keys.length, PARAMETERS_MAX))
    return
  }
  if (keys.includes('')) found.add(invalid('parameters', '', 'field can not be empty.'))
  const bytes = keys.reduce((sum, key) => sum + utf8Length(key) + utf8Length(textMember(parameters, key)), 0)
  if (bytes > PARAMETERS_BYTES_MAX) found.add(tooLong('parameters', PARAMETERS_BYTES_MAX))
}

function checkTerm(term: JsonObject, at: Path | null, found: Findings): void {
  const keys = new Set<string>()
  for (const [index, rule] of objectsMember(term, 'matchLabelExpressions').entries()) {
    const field = (...steps: readonly (string | number)[]) =>
      fieldAt(at, 'matchLabelExpressions', index, ...steps)
    const key = textMember(rule, 'key')
    if (key !== '') {
      for (const words of checkQualifiedName(key)) found.add(invalid(field('key'), key, words))
      if (keys.has(key)) found.add(duplicate(field('key'), key))
    }
    keys.add(key)
    const values = new Set<string>()
    for (const [number, value] of textsMember(rule, 'values').entries()) {
      if (values.has(value)) found.add(duplicate(field('values', number), value))
      values.add(value)
    }
  }
}

/** Rejects duplicate terms. */
function checkTopologies(object: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  for (const [index, term] of objectsMember(object, 'allowedTopologies').entries()) {
    const rules = objectsMember(term, 'matchLabelExpressions').map((rule) =>
      JSON.stringify([textMember(rule, 'key'), [...textsMember(rule, 'values')].sort()]),
    )
    const given = rules.sort().join()
    const field = fieldAt(at, 'allowedTopologies', index, 'matchLabelExpressions')
    if (seen.has(given)) found.add(duplicate(field, ''))
    seen.add(given)
  }
}

/** Immutable fields: existing volumes were provisioned with them. */
function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  for (const name of ['parameters', 'provisioner', 'reclaimPolicy'].filter((name) =>
    isChanged(storageClassSchema, name, object, current),
  ))
    found.add(fieldForbidden(name, `updates to ${name} are forbidden.`))
  const of = { value: object, before: current }
  checkImmutable(storageClassSchema, null, of, ['volumeBindingMode'], found)
}
