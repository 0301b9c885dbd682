import { forbidden } from '../api/errors/standard-errors.ts'
import { memberOf, objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { prefixOf } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { AdmissionPlugin } from './chain.ts'
import { violationsOf } from './limit-range-rules.ts'
import { changedContainers, isClaimWrite, isPodCreate } from './pods.ts'

/**
 * Gives containers the default requests and limits of the LimitRanges of their namespace, and
 * refuses Pods and claims beyond its limits.
 *
 * @source upstream `plugin/pkg/admission/limitranger`
 */
export function limitRanger({ names }: { readonly names: Names }): AdmissionPlugin {
  return {
    name: 'LimitRanger',
    mutate: (request) => {
      const { object } = request
      if (object === null || !isPodCreate(request)) return object
      const left = { count: DEFAULTS_MAX }
      const refuse = (why: string): never => {
        throw forbidden(resourceOf(request.definition), object.metadata.name ?? '', why)
      }
      return rangesOf(request).reduce(
        (pod, items) => withDefaults(pod, items, { names, left, refuse }),
        object,
      )
    },
    validate: (request) => {
      const { object, oldObject, definition, target } = request
      if (object === null || !(isPodCreate(request) || isClaimWrite(request))) return
      // The finalizers of what is being deleted must be removable.
      if (typeof oldObject?.metadata.deletionTimestamp === 'string') return
      for (const items of rangesOf(request)) {
        const found = violationsOf(definition.plural, object, items)
        if (found.length === 0) continue
        const why = found.length === 1 ? found.join() : `[${found.join(', ')}]`
        throw forbidden(resourceOf(definition), object.metadata.name ?? target.name ?? '', why)
      }
    },
  }
}

/**
 * Amounts that a Pod gets: thousands of defaults for thousands of containers are more than memory
 * holds.
 */
const DEFAULTS_MAX = 10_000

type Filling = {
  readonly names: Names
  /** Amounts that the Pod may still get. */
  readonly left: { count: number }
  readonly refuse: (why: string) => never
}

/** Each version is parsed once; the entry lives as long as the version. */
const known = new WeakMap<StoredObject, readonly JsonObject[]>()

/** Returns the items of each LimitRange of the namespace. */
function rangesOf({ target, reads }: AdmissionRequest): readonly (readonly JsonObject[])[] {
  const prefix = prefixOf({ group: '', plural: 'limitranges', namespace: target.namespace ?? '' })
  return reads.listOther(prefix).map((stored) => {
    let items = known.get(stored)
    if (items === undefined) {
      items = objectsMember(objectMember(parseStored(stored), 'spec'), 'limits')
      known.set(stored, items)
    }
    return items
  })
}

function withDefaults(
  pod: AnyObject,
  items: readonly JsonObject[],
  { names, left, refuse }: Filling,
): AnyObject {
  const ofContainers = items.filter((item) => textMember(item, 'type') === 'Container')
  const merged = (member: string): JsonObject =>
    Object.assign({}, ...ofContainers.map((item) => objectMember(item, member))) as JsonObject
  const [limits, requests] = [merged('default'), merged('defaultRequest')]
  const notes: string[] = []
  const spec = objectMember(pod, 'spec')
  const order = ['containers', 'initContainers'] as const
  const changed = changedContainers(spec, order, (container, list) => {
    const resources = objectMember(container, 'resources')
    const what = `${list === 'containers' ? 'container' : 'init container'} ${textMember(container, 'name')}`
    const request = filled(resources, 'requests', requests)
    const limit = filled(resources, 'limits', limits)
    left.count -= request.set.length + limit.set.length
    if (left.count < 0)
      refuse(
        `its containers would get more than ${DEFAULTS_MAX} default requests and limits of the LimitRanges of its namespace: state them in the Pod, or use fewer containers`,
      )
    if (request.set.length > 0) notes.push(`${request.set.join(', ')} request for ${what}`)
    if (limit.set.length > 0) notes.push(`${limit.set.join(', ')} limit for ${what}`)
    if (request.set.length + limit.set.length === 0) return container
    return { ...container, resources: { ...resources, ...request.member, ...limit.member } }
  })
  if (notes.length === 0) return pod
  const note = `LimitRanger plugin set: ${notes.join('; ')}`
  const annotations = { ...pod.metadata.annotations, [names.label('limit-ranger')]: note }
  return { ...pod, spec: changed, metadata: { ...pod.metadata, annotations } }
}

/** Returns the amounts with the defaults of those that are missing, and their names. */
function filled(
  resources: JsonObject,
  member: string,
  defaults: JsonObject,
): { readonly member: JsonObject; readonly set: readonly string[] } {
  const own = objectMember(resources, member)
  const set = Object.keys(defaults)
    .filter((name) => memberOf(own, name) === undefined)
    .sort()
  return { member: set.length === 0 ? {} : { [member]: { ...defaults, ...own } }, set }
}
