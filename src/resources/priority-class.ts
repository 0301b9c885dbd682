import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden } from '../api/errors/field-error.ts'
import { memberOf, numberMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, int32, struct, text } from '../api/schema/build.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { systemPriorityOf } from '../registry/kinds/system-priorities.ts'
import { checkImmutable } from './common/immutable.ts'

/** A named priority, which Pods refer to. */
export function priorityClassDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('scheduling'),
    version: 'v1',
    kind: 'PriorityClass',
    plural: 'priorityclasses',
    singular: 'priorityclass',
    shortNames: ['pc'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: priorityClassSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: 'on-create',
    columns: [
      nameColumn,
      {
        name: 'Value',
        type: 'integer',
        description: 'The priority of Pods of this class.',
        cell: (object) => numberMember(object, 'value') ?? 0,
      },
      {
        name: 'Global-Default',
        type: 'boolean',
        description: 'Whether Pods without a class have this priority.',
        cell: (object) => memberOf(object, 'globalDefault') === true,
      },
      ageColumn,
    ],
    hooks: { validate: checkValue, validateUpdate: checkUpdate },
    subresources: [],
  } satisfies ResourceDefinition)
}

/** Higher ones are reserved for the system. */
const VALUE_MAX = 1_000_000_000

const priorityClassSchema = struct('scheduling.v1.PriorityClass', 'A named priority, which Pods refer to.', {
  value: int32(2, 'The priority of Pods of this class; higher values are scheduled first.', {
    required: true,
    always: true,
  }),
  globalDefault: flag(3, 'Whether Pods without a class have this priority; true for one class at most.'),
  description: text(4, 'What the class is for.'),
  preemptionPolicy: text(5, 'Preemption policy: PreemptLowerPriority or Never.', {
    optional: true,
    enum: ['Never', 'PreemptLowerPriority'],
    default: 'PreemptLowerPriority',
  }),
})

/** @source upstream `pkg/apis/scheduling/validation`, ValidatePriorityClass */
function checkValue(object: AnyObject, found: Findings): void {
  const { name = '' } = object.metadata
  const value = numberMember(object, 'value') ?? 0
  if (name.startsWith('system-')) {
    const wrong = systemRefusal(name, value, memberOf(object, 'globalDefault') === true)
    if (wrong === null) return
    const words = `priority class names with 'system-' prefix are reserved for system use only. error: ${wrong}`
    found.add(fieldForbidden('metadata.name', words))
    return
  }
  if (value <= VALUE_MAX) return
  found.add(fieldForbidden('value', `maximum allowed value of a user defined priority is ${VALUE_MAX}`))
}

/** @returns null: it is a class of the system */
function systemRefusal(name: string, value: number, globalDefault: boolean): string | null {
  const wanted = systemPriorityOf(name)
  if (wanted === null) return `${name} is not a known system priority class`
  if (value !== wanted) return `value of ${name} PriorityClass must be ${wanted}`
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : null
}

function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  if ((numberMember(object, 'value') ?? 0) !== (numberMember(current, 'value') ?? 0))
    found.add(fieldForbidden('value', 'may not be changed in an update.'))
  checkImmutable(priorityClassSchema, null, { value: object, before: current }, ['preemptionPolicy'], found)
}
