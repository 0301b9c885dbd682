import { forbidden } from '../api/errors/standard-errors.ts'
import { equalJson, isJsonObject, memberOf, objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { amountsIn, amountsJson } from '../registry/quota/amounts.ts'
import { keyOf } from '../store/key.ts'
import type { AdmissionPlugin } from './chain.ts'
import { isPodCreate, withSpec } from './pods.ts'
import { mergedTolerations } from './tolerations.ts'

/**
 * Gives new Pods of a RuntimeClass its overhead, node selector and tolerations. Refuses Pods whose
 * class does not exist, or has another overhead or a conflicting node selector.
 *
 * @source upstream `plugin/pkg/admission/runtimeclass`
 */
export function runtimeClassAdmission({ names }: { readonly names: Names }): AdmissionPlugin {
  const group = names.group('node')
  return {
    name: 'RuntimeClass',
    mutate: (request) => {
      const { object } = request
      if (object === null || !isPodCreate(request)) return object
      const found = classOf(request, object, group)
      return found === null ? object : withScheduling(request, withOverhead(request, object, found), found)
    },
    validate: (request) => {
      const { object } = request
      if (object === null || !isPodCreate(request)) return
      const found = classOf(request, object, group)
      const own = objectMember(objectMember(object, 'spec'), 'overhead')
      const fixed = found === null ? null : overheadOf(found)
      if (fixed === null) {
        if (Object.keys(own).length === 0) return
        refuse(
          request,
          object,
          'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
        )
      } else {
        if (!isSameOverhead(own, fixed)) refuse(request, object, MISMATCH)
      }
    },
  }
}

const MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

function refuse({ definition }: AdmissionRequest, pod: AnyObject, why: string): never {
  throw forbidden(resourceOf(definition), pod.metadata.name ?? '', why)
}

/** @returns null: the Pod has no class. @throws ApiError `Forbidden`: its class does not exist */
function classOf(request: AdmissionRequest, pod: AnyObject, group: string): AnyObject | null {
  const name = textMember(objectMember(pod, 'spec'), 'runtimeClassName')
  if (name === '') return null
  const stored = name.includes('/')
    ? null
    : request.reads.getOther(keyOf({ group, plural: 'runtimeclasses', namespace: '', name }))
  if (stored === null) refuse(request, pod, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`)
  return parseStored(stored)
}

/** @returns null: the class has no overhead */
function overheadOf(runtimeClass: AnyObject): JsonObject | null {
  const overhead = memberOf(runtimeClass, 'overhead')
  return isJsonObject(overhead) ? objectMember(overhead, 'podFixed') : null
}

function isSameOverhead(a: JsonObject, b: JsonObject): boolean {
  return equalJson(amountsJson(amountsIn(a)), amountsJson(amountsIn(b)))
}

function withOverhead(request: AdmissionRequest, pod: AnyObject, runtimeClass: AnyObject): AnyObject {
  const fixed = overheadOf(runtimeClass)
  if (fixed === null) return pod
  const own = memberOf(objectMember(pod, 'spec'), 'overhead')
  if (isJsonObject(own) && !isSameOverhead(own, fixed)) refuse(request, pod, MISMATCH)
  return withSpec(pod, { overhead: fixed })
}

function withScheduling(request: AdmissionRequest, pod: AnyObject, runtimeClass: AnyObject): AnyObject {
  const scheduling = memberOf(runtimeClass, 'scheduling')
  if (!isJsonObject(scheduling)) return pod
  const spec = objectMember(pod, 'spec')
  const own = objectMember(spec, 'nodeSelector')
  const wanted = objectMember(scheduling, 'nodeSelector')
  for (const key of Object.keys(wanted)) {
    const value = memberOf(own, key)
    if (value === undefined || value === wanted[key]) continue
    const words = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${textMember(wanted, key)}; pod.spec.nodeSelector[${key}] = ${textMember(own, key)}`
    refuse(request, pod, words)
  }
  const nodeSelector = { ...own, ...wanted }
  const tolerations = mergedTolerations(
    objectsMember(spec, 'tolerations'),
    objectsMember(scheduling, 'tolerations'),
  )
  return withSpec(pod, {
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  })
}
