import { causesOf } from '../api/errors/findings.ts'
import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, invalid } from '../api/errors/field-error.ts'
import type { JsonObject, JsonObjectDraft } from '../api/json.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import type { ObjectMeta } from '../api/metadata/object.ts'
import { part, struct } from '../api/schema/build.ts'
import type { AnyObject, ResourceDefinition, SelectableField } from '../registry/kinds/definition.ts'
import { withoutDisabledFields } from './pods/disabled-fields.ts'
import { fillPodAlone, fillPodSpec } from './pods/pod-defaults.ts'
import { podSpecSchema } from './pods/pod-spec.ts'
import { checkPodStatus } from './pods/pod-status-rules.ts'
import { podStatusSchema } from './pods/pod-status.ts'
import { checkEphemeralUpdate, checkPodUpdate } from './pods/pod-update.ts'
import { podWarnings } from './pods/pod-warnings.ts'
import { qosClassOf } from './pods/qos-class.ts'
import { keeping } from './common/status-subresource.ts'
import { checkVolumes } from './volumes/volume.ts'
import { binding } from './binding.ts'
import { eviction } from './eviction.ts'
import { checkPodAnnotations, checkPodAnnotationsKept, checkPodCost } from './pods/pod-annotations.ts'
import { podColumns } from './pods/pod-columns.ts'
import { podConnections, proxyOf } from './pods/connect-options.ts'
import { withSeccompOnBothSides } from './pods/pod-seccomp.ts'

/**
 * Containers that run together on one node. Once a Pod is scheduled, its spec is nearly immutable.
 * Deleting a scheduled Pod gives it a grace period; its node confirms the termination.
 */
export function podDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Pod',
    plural: 'pods',
    singular: 'pod',
    shortNames: ['po'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: podSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    selectableFields,
    columns: podColumns,
    hooks: {
      fillDefaults: fillPod,
      gracePeriodSeconds,
      prepareForCreate: (object) => ({
        ...withSeccompOnBothSides(withEnabledSpec(object, null), names),
        status: { phase: 'Pending', qosClass: qosClassOf(specOf(object)) },
      }),
      prepareForUpdate: (object, current) =>
        withEnabledSpec(keeping(object, current, 'status'), specOf(current)),
      validate: (object, found) => checkPod(object, names, found),
      validateNew: (object, found) => {
        validateNew(object, found)
        checkPodCost(object, names, found)
      },
      // Pods are hardly ever updated by people, and programs do not read warnings.
      warnings: (object, current) => (current === null ? warningsOf(object, names) : []),
      validateUpdate: (object, current, found) => {
        checkPodUpdate(specOf(object), specOf(current), found)
        checkPodAnnotationsKept(object, current, names, found)
        // A Pod that is stored with an invalid cost can still be changed.
        if (causesOf((before) => checkPodCost(current, names, before)).length === 0)
          checkPodCost(object, names, found)
      },
    },
    subresources: [
      ...podConnections,
      proxyOf('Pod'),
      binding,
      eviction,
      {
        name: 'ephemeralcontainers',
        verbs: ['get', 'patch', 'update'],
        prepareForUpdate: (object, current) =>
          withEnabledSpec(onlyEphemeralContainers(object, current), specOf(current)),
        validateUpdate: (object, current, found) =>
          checkEphemeralUpdate(specOf(object), specOf(current), found),
      },
      {
        name: 'status',
        verbs: ['get', 'patch', 'update'],
        prepareForUpdate: onlyStatus,
        validateUpdate: checkPodStatus,
      },
    ],
  } satisfies ResourceDefinition)
}

const podSchema = struct('core.v1.Pod', 'A group of containers that run together on one node.', {
  spec: part(2, podSpecSchema, 'Desired state of the Pod.'),
  status: part(3, podStatusSchema, 'Most recently observed state of the Pod, reported by its node.'),
})

const selectableFields: readonly (string | SelectableField)[] = [
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.serviceAccountName',
  'status.phase',
  'status.podIP',
  // Joined with commas.
  { name: 'status.podIPs', textOf: (pod) => addressesOf(pod).join(',') },
  'status.nominatedNodeName',
]

function addressesOf(pod: AnyObject): readonly string[] {
  return objectsMember(objectMember(pod, 'status'), 'podIPs').map((one) => textMember(one, 'ip'))
}

function specOf(object: AnyObject): JsonObject {
  return objectMember(object, 'spec')
}

/** Returns a Pod without fields whose features are off, unless the stored one uses them. */
function withEnabledSpec(object: AnyObject, before: JsonObject | null): AnyObject {
  const spec = withoutDisabledFields(specOf(object), before)
  return spec === specOf(object) ? object : { ...object, spec }
}

function fillPod(object: AnyObject): AnyObject {
  const spec = specOf(object)
  const filled = fillPodAlone(fillPodSpec(spec))
  const status = objectMember(object, 'status')
  const addressed = withBothAddresses(status)
  return filled === spec && addressed === status ? object : { ...object, spec: filled, status: addressed }
}

/** `podIP` equals the first of `podIPs`. */
function withBothAddresses(status: JsonObject): JsonObject {
  const first = textMember(objectsMember(status, 'podIPs')[0] ?? {}, 'ip')
  const ip = textMember(status, 'podIP')
  if (first === ip) return status
  return first === '' ? { ...status, podIPs: [{ ip }] } : { ...status, podIP: first }
}

/**
 * A Pod without a node, or one that has ended, is deleted at once.
 * @source core `pkg/registry/core/pod`, CheckGracefulDelete
 */
function gracePeriodSeconds(object: AnyObject, requested: number | null): number {
  const spec = specOf(object)
  const phase = textMember(objectMember(object, 'status'), 'phase')
  if (textMember(spec, 'nodeName') === '' || phase === 'Failed' || phase === 'Succeeded') return 0
  const seconds = requested ?? numberMember(spec, 'terminationGracePeriodSeconds') ?? 0
  return seconds < 0 ? 1 : seconds
}

function checkPod(object: AnyObject, names: Names, found: Findings): void {
  const spec = specOf(object)
  const podName = object.metadata.name ?? ''
  checkVolumes(objectsMember(spec, 'volumes'), 'spec.volumes', { names, podName }, found)
  checkImages(spec, found)
  checkPodAnnotations(object, names, found)
}

function warningsOf(object: AnyObject, names: Names): Iterable<string> {
  return podWarnings({ spec: specOf(object), annotations: object.metadata.annotations ?? {}, at: '', names })
}

/** Checks the images of a Pod for whitespace. As upstream, Pod templates may have it. */
function checkImages(spec: JsonObject, found: Findings): void {
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of objectsMember(spec, list).entries()) {
      const image = textMember(container, 'image')
      if (image === image.trim()) continue
      const words = 'must not have leading or trailing whitespace'
      found.add(invalid(`spec.${list}[${index}].image`, image, words))
    }
  }
}

function validateNew(object: AnyObject, found: Findings): void {
  if (objectsMember(specOf(object), 'ephemeralContainers').length === 0) return
  found.add(fieldForbidden('spec.ephemeralContainers', 'cannot be set on create'))
}

/**
 * A status update changes the status and, as upstream, metadata other than the owners and the time
 * of the deletion.
 */
function onlyStatus(object: AnyObject, current: AnyObject): AnyObject {
  const kept = keeping(object, current, 'spec')
  const { ownerReferences: owners, deletionTimestamp } = current.metadata
  const metadata: { -readonly [name in keyof ObjectMeta]: ObjectMeta[name] } = { ...kept.metadata }
  if (owners === undefined) delete metadata.ownerReferences
  else metadata.ownerReferences = owners
  if (deletionTimestamp === undefined) delete metadata.deletionTimestamp
  return { ...kept, metadata }
}

function onlyEphemeralContainers(object: AnyObject, current: AnyObject): AnyObject {
  const spec: JsonObjectDraft = { ...specOf(current) }
  const wanted = memberOf(specOf(object), 'ephemeralContainers')
  if (wanted === undefined) delete spec['ephemeralContainers']
  else spec['ephemeralContainers'] = wanted
  const metadata: { -readonly [name in keyof ObjectMeta]: ObjectMeta[name] } = { ...current.metadata }
  delete metadata.resourceVersion
  return { ...current, metadata, spec }
}
