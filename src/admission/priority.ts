import { forbidden } from '../api/errors/standard-errors.ts'
import { memberOf, numberMember, objectMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { systemPriorityOf } from '../registry/kinds/system-priorities.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { AdmissionPlugin } from './chain.ts'
import { isPodWrite, withSpec } from './pods.ts'

/**
 * Gives new Pods the priority of their class, or of the default class; allows only one default
 * class; and refuses to delete the classes of the system.
 *
 * @source upstream `plugin/pkg/admission/priority`
 */
export function priorityAdmission({ names }: { readonly names: Names }): AdmissionPlugin {
  const group = names.group('scheduling')
  return {
    name: 'Priority',
    mutate: (request) => {
      const { object, oldObject } = request
      if (object === null || !isPodWrite(request)) return object
      return oldObject === null ? withPriority(object, request, group) : keptPriority(object, oldObject)
    },
    validate: (request) => {
      const { definition, object, operation, target } = request
      if (definition.group !== group || definition.plural !== 'priorityclasses') return
      const refuse = (name: string, why: string): never => {
        throw forbidden(resourceOf(definition), name, why)
      }
      if (operation === 'DELETE' && systemPriorityOf(target.name ?? '') !== null)
        refuse(target.name ?? '', 'this is a system priority class and cannot be deleted')
      if (object === null || memberOf(object, 'globalDefault') !== true) return
      const { name = '' } = object.metadata
      const other = defaultClass(request, group)
      if (other === null || other.name === name) return
      refuse(name, `PriorityClass ${other.name} is already marked as default. Only one default can exist`)
    },
  }
}

type PriorityClass = {
  readonly name: string
  readonly value: number
  readonly preemptionPolicy: string
  readonly isDefault: boolean
}

const PREEMPT = 'PreemptLowerPriority'

/** Each version is parsed once; the entry lives as long as the version. */
const known = new WeakMap<StoredObject, PriorityClass>()

function classOf(stored: StoredObject): PriorityClass {
  let found = known.get(stored)
  if (found === undefined) {
    const object = parseStored(stored)
    found = {
      name: object.metadata.name ?? '',
      value: numberMember(object, 'value') ?? 0,
      preemptionPolicy: textMember(object, 'preemptionPolicy') || PREEMPT,
      isDefault: memberOf(object, 'globalDefault') === true,
    }
    known.set(stored, found)
  }
  return found
}

/**
 * Returns the default class with the lowest value: several may exist if the plugin was disabled.
 */
function defaultClass({ reads }: AdmissionRequest, group: string): PriorityClass | null {
  let lowest: PriorityClass | null = null
  const prefix = prefixOf({ group, plural: 'priorityclasses', namespace: null })
  for (const one of reads.listOther(prefix).map(classOf)) {
    if (one.isDefault && (lowest === null || one.value < lowest.value)) lowest = one
  }
  return lowest
}

/** @returns null: there is none */
function namedClass({ reads }: AdmissionRequest, group: string, name: string): PriorityClass | null {
  if (name.includes('/')) return null
  const stored = reads.getOther(keyOf({ group, plural: 'priorityclasses', namespace: '', name }))
  if (stored !== null) return classOf(stored)
  // The leader of a new cluster may not have stored the classes of the system yet.
  const value = systemPriorityOf(name)
  return value === null ? null : { name, value, preemptionPolicy: PREEMPT, isDefault: false }
}

/** @throws ApiError `Forbidden` */
function withPriority(pod: AnyObject, request: AdmissionRequest, group: string): AnyObject {
  const spec = objectMember(pod, 'spec')
  const refuse = (why: string): never => {
    throw forbidden(resourceOf(request.definition), pod.metadata.name ?? '', why)
  }
  const given = textMember(spec, 'priorityClassName')
  const named = given === '' ? defaultClass(request, group) : namedClass(request, group, given)
  if (given !== '' && named === null) refuse(`no PriorityClass with name ${given} was found`)
  const {
    name,
    value: priority,
    preemptionPolicy,
  } = named ?? { name: '', value: 0, preemptionPolicy: PREEMPT }
  const computed = 'must not be provided in pod spec; priority admission controller computed'
  const own = numberMember(spec, 'priority')
  if (own !== null && own !== priority)
    refuse(`the integer value of priority (${own}) ${computed} ${priority} from the given PriorityClass name`)
  const policy = textMember(spec, 'preemptionPolicy')
  if (policy !== '' && policy !== preemptionPolicy)
    refuse(
      `the string value of PreemptionPolicy (${policy}) ${computed} ${preemptionPolicy} from the given PriorityClass name`,
    )
  return withSpec(pod, {
    ...(name === '' ? {} : { priorityClassName: name }),
    ...{ priority, preemptionPolicy },
  })
}

/** An update without the priority keeps it. */
function keptPriority(pod: AnyObject, oldPod: AnyObject): AnyObject {
  const [spec, before] = [objectMember(pod, 'spec'), objectMember(oldPod, 'spec')]
  const kept: JsonObject = Object.fromEntries(
    ['priority', 'preemptionPolicy'].flatMap((name) => {
      const value = memberOf(before, name)
      return value === undefined || memberOf(spec, name) !== undefined ? [] : [[name, value]]
    }),
  )
  return Object.keys(kept).length === 0 ? pod : withSpec(pod, kept)
}
