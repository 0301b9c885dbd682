import { forbidden } from '../api/errors/standard-errors.ts'
import { memberOf, objectMember, objectsMember, setMember, textMember } from '../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { Condition } from '../store/command.ts'
import type { AdmissionPlugin } from './chain.ts'
import { limitRangeOf } from './limit-range.ts'
import type { LimitRange } from './limit-range.ts'
import { violationsOf } from './limit-range-rules.ts'
import { policiesPrefix, policyAnnouncement, whileAnnounced, whileNoPolicy } from './policy-announcement.ts'
import { checkCapacityFor } from './policy-capacity.ts'
import { changedContainers, isClaimWrite, isPodCreate } from './pods.ts'

/**
 * Gives containers the default requests and limits of the LimitRanges of their namespace, and
 * refuses new Pods, and claims, beyond their limits. The command that stores such a Pod or claim
 * carries the condition that no LimitRange of the namespace was added or changed since, so the
 * limits hold whichever members take the writes.
 *
 * @source upstream `plugin/pkg/admission/limitranger`
 */
export function limitRanger({ names }: { readonly names: Names }): AdmissionPlugin {
  return {
    name: 'LimitRanger',
    mutate: (request) => {
      const { object } = request
      if (object === null || !isPodCreate(request)) return object
      const refuse = (why: string): never => {
        throw forbidden(resourceOf(request.definition), object.metadata.name ?? '', why)
      }
      return withDefaults(object, rangesOf(request), { names, refuse })
    },
    validate: (request) => {
      const { object, oldObject, definition, target } = request
      checkCapacityFor(RANGES, request)
      if (object === null || !(isPodCreate(request) || isClaimWrite(request))) return
      // The finalizers of an object that is being deleted must be removable.
      if (typeof oldObject?.metadata.deletionTimestamp === 'string') return
      const found = violationsOf(definition.plural, object, rangesOf(request))
      if (found.length === 0) return
      const why = found.length === 1 ? found.join() : `[${found.join(', ')}]`
      throw forbidden(resourceOf(definition), object.metadata.name ?? target.name ?? '', why)
    },
    extraOperations: (request) => policyAnnouncement(RANGES, request),
    extraConditions: (request) => whileLimitsUnchanged(request),
  }
}

/**
 * Returns the condition that no LimitRange was added or changed since a Pod or claim was compared
 * with them.
 */
function whileLimitsUnchanged(request: AdmissionRequest): readonly Condition[] {
  const { object, target, reads } = request
  const isLimited = isPodCreate(request) || isClaimWrite(request)
  if (object === null || target.namespace === null || !isLimited) return []
  const prefix = policiesPrefix(RANGES, target.namespace)
  return reads.listOther(prefix).length === 0
    ? whileNoPolicy(prefix)
    : whileAnnounced(target.namespace, reads)
}

const RANGES = { kind: 'LimitRange', plural: 'limitranges' } as const

/**
 * Maximum number of amounts that a Pod gets: thousands of defaults for thousands of containers
 * might not fit into memory.
 */
const DEFAULTS_MAX = 10_000

const TOO_MANY = `its containers would get more than ${DEFAULTS_MAX} default requests and limits of the LimitRanges of its namespace: state them in the Pod, or use fewer containers`

function rangesOf({ target, reads }: AdmissionRequest): readonly LimitRange[] {
  return reads.listOther(policiesPrefix(RANGES, target.namespace ?? '')).map(limitRangeOf)
}

type Filling = { readonly names: Names; readonly refuse: (why: string) => never }

/**
 * Returns the Pod with the defaults of all LimitRanges. For each resource, the first LimitRange
 * that has a default counts.
 */
function withDefaults(pod: AnyObject, ranges: readonly LimitRange[], { names, refuse }: Filling): AnyObject {
  const spec = objectMember(pod, 'spec')
  const containers = LISTS.flatMap((list) =>
    objectsMember(spec, list).map((container) => new ContainerDefaults(container, list)),
  )
  let left = DEFAULTS_MAX
  let note: string | null = null
  const [requests, limits] = [new Set<string>(), new Set<string>()]
  for (const { defaults } of ranges) {
    // All containers have the defaults of earlier LimitRanges by now.
    const more = {
      requests: newNames(defaults.requests, requests),
      limits: newNames(defaults.limits, limits),
    }
    if (more.requests.length + more.limits.length === 0) continue
    const notes: string[] = []
    for (const container of containers) {
      for (const member of ['requests', 'limits'] as const) {
        const set = container.fill(member, defaults[member], more[member])
        if (set.length === 0) continue
        notes.push(`${set.join(', ')} ${member.slice(0, -1)} for ${container.text}`)
        left -= set.length
        if (left < 0) refuse(TOO_MANY)
      }
    }
    // As upstream, the annotation has only the note of the last LimitRange that changed the Pod.
    if (notes.length > 0) note = `LimitRanger plugin set: ${notes.join('; ')}`
  }
  if (note === null) return pod
  const annotations = { ...pod.metadata.annotations, [names.label('limit-ranger')]: note }
  const filled = containers.values()
  const changed = changedContainers(spec, LISTS, (container) => filled.next().value?.filled ?? container)
  return { ...pod, spec: changed, metadata: { ...pod.metadata, annotations } }
}

const LISTS = ['containers', 'initContainers'] as const

/** Returns the names that are not in the set, in order, and adds them to it. */
function newNames(defaults: JsonObject, seen: Set<string>): readonly string[] {
  const found = Object.keys(defaults).filter((name) => !seen.has(name))
  for (const name of found) seen.add(name)
  return found.sort()
}

type AmountsMember = 'requests' | 'limits'

/** A container, and the amounts that it gets. */
class ContainerDefaults {
  readonly text: string
  readonly #container: JsonObject
  readonly #more: Readonly<Record<AmountsMember, JsonObjectDraft>> = { requests: {}, limits: {} }

  constructor(container: JsonObject, list: (typeof LISTS)[number]) {
    this.#container = container
    this.text = `${list === 'containers' ? 'container' : 'init container'} ${textMember(container, 'name')}`
  }

  /** @returns those of the names that the container did not state */
  fill(member: AmountsMember, defaults: JsonObject, names: readonly string[]): readonly string[] {
    const own = objectMember(objectMember(this.#container, 'resources'), member)
    const set = names.filter((name) => memberOf(own, name) === undefined)
    for (const name of set) setMember(this.#more[member], name, memberOf(defaults, name) ?? null)
    return set
  }

  get filled(): JsonObject {
    const resources = objectMember(this.#container, 'resources')
    const members = (['requests', 'limits'] as const).flatMap((member) => {
      const more = this.#more[member]
      return Object.keys(more).length === 0
        ? []
        : [[member, { ...more, ...objectMember(resources, member) }] as const]
    })
    if (members.length === 0) return this.#container
    return { ...this.#container, resources: { ...resources, ...Object.fromEntries(members) } }
  }
}
