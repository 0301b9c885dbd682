import type { ApiErrorCause } from '../../api/api-error.ts'
import { duplicate, fieldForbidden, fieldNotFound, invalid } from '../../api/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import {
  integerMember,
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
} from '../../api/json.ts'
import { validateLabels } from '../../api/object-meta.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { containerLists } from './container-lists.ts'
import { checkAmounts } from './container-resources.ts'
import { checkDnsPolicy } from './pod-dns.ts'
import { checkOperatingSystem } from './pod-os.ts'
import { checkConstraintPairs } from './topology-spread.ts'

/**
 * What the parts of a Pod must be to each other.
 *
 * @param at of the spec
 * @source core `pkg/apis/core/validation`, ValidatePodSpec
 */
export function checkPodShape(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  return [
    ...checkContainerNames(spec, at),
    ...checkInitContainers(spec, at),
    ...checkTargets(spec, at),
    ...checkVolumeUses(spec, at),
    ...checkHostPorts(spec, at),
    ...checkDeadline(spec, at),
    ...checkNodeLabels(spec, at),
    ...checkProcesses(spec, at),
    ...checkDnsPolicy(spec, at),
    ...checkAmounts(objectMember(spec, 'overhead'), fieldAt(at, 'overhead')),
    ...checkConstraintPairs(
      objectsMember(spec, 'topologySpreadConstraints'),
      fieldAt(at, 'topologySpreadConstraints'),
    ),
    ...checkOperatingSystem(spec, at),
  ]
}

function checkContainerNames(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const seen = new Set<string>()
  const causes: ApiErrorCause[] = []
  for (const list of containerLists) {
    objectsMember(spec, list).forEach((container, index) => {
      const name = textMember(container, 'name')
      if (name !== '' && seen.has(name)) causes.push(duplicate(fieldAt(at, list, index, 'name'), name))
      seen.add(name)
    })
  }
  return causes
}

function checkInitContainers(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const causes: ApiErrorCause[] = []
  objectsMember(spec, 'initContainers').forEach((container, index) => {
    for (const name of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
      const value = memberOf(container, name)
      if (value === undefined) continue
      causes.push(
        invalid(fieldAt(at, 'initContainers', index, name), value, 'must not be set for init containers'),
      )
    }
  })
  return causes
}

/** An ephemeral container looks into one that is there for good. */
function checkTargets(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const lasting = [...objectsMember(spec, 'containers'), ...objectsMember(spec, 'initContainers')]
  const names = new Set(lasting.map((container) => textMember(container, 'name')))
  const causes: ApiErrorCause[] = []
  objectsMember(spec, 'ephemeralContainers').forEach((container, index) => {
    const target = textMember(container, 'targetContainerName')
    if (target === '' || names.has(target)) return
    causes.push(fieldNotFound(fieldAt(at, 'ephemeralContainers', index, 'targetContainerName'), target))
  })
  return causes
}

/** Containers mount volumes of the Pod, and as devices only those behind claims. */
function checkVolumeUses(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const volumes = new Map(
    objectsMember(spec, 'volumes').map((volume) => [textMember(volume, 'name'), volume] as const),
  )
  const causes: ApiErrorCause[] = []
  const words = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
  for (const list of containerLists) {
    objectsMember(spec, list).forEach((container, index) => {
      for (const member of ['volumeMounts', 'volumeDevices']) {
        objectsMember(container, member).forEach((use, place) => {
          const name = textMember(use, 'name')
          const field = fieldAt(at, list, index, member, place, 'name')
          const volume = volumes.get(name)
          if (name === '') return
          if (volume === undefined) causes.push(fieldNotFound(field, name))
          else if (member === 'volumeDevices' && !isBehindClaim(volume)) {
            causes.push(invalid(field, name, words))
          }
        })
      }
    })
  }
  return causes
}

function isBehindClaim(volume: JsonObject): boolean {
  return Object.hasOwn(volume, 'persistentVolumeClaim') || Object.hasOwn(volume, 'ephemeral')
}

/** No two containers take the same port of the node; in its network ports are what they are there. */
function checkHostPorts(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const isOnHost = memberOf(spec, 'hostNetwork') === true
  const causes: ApiErrorCause[] = []
  for (const list of ['containers', 'initContainers']) {
    const seen = new Set<string>()
    objectsMember(spec, list).forEach((container, index) => {
      objectsMember(container, 'ports').forEach((port, place) => {
        const hostPort = numberMember(port, 'hostPort') ?? 0
        const containerPort = numberMember(port, 'containerPort')
        const field = (name: string): string => fieldAt(at, list, index, 'ports', place, name)
        if (isOnHost && hostPort !== containerPort) {
          const words = 'must match `hostPort` when `hostNetwork` is true'
          causes.push(invalid(field('containerPort'), containerPort ?? undefined, words))
        }
        if (hostPort === 0) return
        const taken = `${textMember(port, 'protocol')}/${textMember(port, 'hostIP')}/${hostPort}`
        // Containers of the list run at the same time, init containers one after the other.
        if (list === 'containers' && seen.has(taken)) causes.push(duplicate(field('hostPort'), taken))
        seen.add(taken)
      })
    })
  }
  return causes
}

const SECONDS_MAX = 2 ** 31 - 1

function checkDeadline(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const seconds = integerMember(spec, 'activeDeadlineSeconds')
  if (seconds === null || (seconds >= 1 && seconds <= SECONDS_MAX)) return []
  const words = `must be between 1 and ${SECONDS_MAX}, inclusive`
  return [invalid(fieldAt(at, 'activeDeadlineSeconds'), seconds, words)]
}

function checkNodeLabels(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const wanted = objectMember(spec, 'nodeSelector')
  const labels = Object.keys(wanted).map((key) => [key, textMember(wanted, key)] as const)
  return validateLabels(Object.fromEntries(labels), fieldAt(at, 'nodeSelector'))
}

function checkProcesses(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const causes: ApiErrorCause[] = []
  if (memberOf(spec, 'hostPID') === true && memberOf(spec, 'shareProcessNamespace') === true) {
    const words = 'ShareProcessNamespace and HostPID cannot both be enabled'
    causes.push(invalid(fieldAt(at, 'shareProcessNamespace'), true, words))
  }
  if (textMember(spec, 'serviceAccountName') !== '') return causes
  objectsMember(spec, 'volumes').forEach((volume, index) => {
    objectsMember(objectMember(volume, 'projected'), 'sources').forEach((source, place) => {
      if (!Object.hasOwn(source, 'serviceAccountToken')) return
      const field = fieldAt(at, 'volumes', index, 'projected', 'sources', place, 'serviceAccountToken')
      causes.push(fieldForbidden(field, 'must not be specified when serviceAccountName is not set'))
    })
  })
  return causes
}
