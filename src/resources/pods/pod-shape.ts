import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, fieldNotFound, invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import {
  integerMember,
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
} from '../../api/json.ts'
import { validateLabels } from '../../api/metadata/object-meta.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { containerLists } from '../containers/container-lists.ts'
import { checkAmounts } from '../containers/container-resources.ts'
import { checkDnsPolicy } from './pod-dns.ts'
import { checkOperatingSystem } from './pod-os.ts'
import { checkConstraintPairs } from './topology-spread.ts'

/**
 * Validates the relations between the parts of a Pod.
 *
 * @param at of the spec
 * @source core `pkg/apis/core/validation`, ValidatePodSpec
 */
export function checkPodShape(spec: JsonObject, at: Path | null, found: Findings): void {
  checkVolumeUses(spec, at, found)
  checkShapeWithoutVolumes(spec, at, found)
}

/** Like `checkPodShape`, for Pods that get further volumes when they are created. */
export function checkShapeWithoutVolumes(spec: JsonObject, at: Path | null, found: Findings): void {
  checkContainerNames(spec, at, found)
  checkInitContainers(spec, at, found)
  checkTargets(spec, at, found)
  checkHostPorts(spec, at, found)
  checkDeadline(spec, at, found)
  checkNodeLabels(spec, at, found)
  checkProcesses(spec, at, found)
  checkDnsPolicy(spec, at, found)
  checkAmounts(objectMember(spec, 'overhead'), fieldAt(at, 'overhead'), found)
  checkConstraintPairs(
    objectsMember(spec, 'topologySpreadConstraints'),
    fieldAt(at, 'topologySpreadConstraints'),
    found,
  )
  checkOperatingSystem(spec, at, found)
}

function checkContainerNames(spec: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  for (const list of containerLists) {
    objectsMember(spec, list).forEach((container, index) => {
      const name = textMember(container, 'name')
      if (name !== '' && seen.has(name)) found.add(duplicate(fieldAt(at, list, index, 'name'), name))
      seen.add(name)
    })
  }
}

function checkInitContainers(spec: JsonObject, at: Path | null, found: Findings): void {
  objectsMember(spec, 'initContainers').forEach((container, index) => {
    for (const name of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
      const value = memberOf(container, name)
      if (value === undefined) continue
      found.add(
        invalid(fieldAt(at, 'initContainers', index, name), value, 'must not be set for init containers'),
      )
    }
  })
}

/** The target of an ephemeral container must be a regular or an init container. */
function checkTargets(spec: JsonObject, at: Path | null, found: Findings): void {
  const targets = [...objectsMember(spec, 'containers'), ...objectsMember(spec, 'initContainers')]
  const names = new Set(targets.map((container) => textMember(container, 'name')))
  objectsMember(spec, 'ephemeralContainers').forEach((container, index) => {
    const target = textMember(container, 'targetContainerName')
    if (target === '' || names.has(target)) return
    found.add(fieldNotFound(fieldAt(at, 'ephemeralContainers', index, 'targetContainerName'), target))
  })
}

/** Mounts must refer to volumes of the Pod, and devices to those with claims. */
function checkVolumeUses(spec: JsonObject, at: Path | null, found: Findings): void {
  const volumes = new Map(
    objectsMember(spec, 'volumes').map((volume) => [textMember(volume, 'name'), volume] as const),
  )
  const words = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
  for (const list of containerLists) {
    objectsMember(spec, list).forEach((container, index) => {
      for (const member of ['volumeMounts', 'volumeDevices']) {
        objectsMember(container, member).forEach((use, place) => {
          const name = textMember(use, 'name')
          const field = fieldAt(at, list, index, member, place, 'name')
          const volume = volumes.get(name)
          if (name === '') return
          if (volume === undefined) found.add(fieldNotFound(field, name))
          else {
            if (member === 'volumeDevices' && !isBehindClaim(volume)) {
              found.add(invalid(field, name, words))
            }
          }
        })
      }
    })
  }
}

function isBehindClaim(volume: JsonObject): boolean {
  return Object.hasOwn(volume, 'persistentVolumeClaim') || Object.hasOwn(volume, 'ephemeral')
}

/** Host ports must be distinct; with host networking they equal the container ports. */
function checkHostPorts(spec: JsonObject, at: Path | null, found: Findings): void {
  const isOnHost = memberOf(spec, 'hostNetwork') === true
  for (const list of ['containers', 'initContainers']) {
    const seen = new Set<string>()
    objectsMember(spec, list).forEach((container, index) => {
      objectsMember(container, 'ports').forEach((port, place) => {
        const hostPort = numberMember(port, 'hostPort') ?? 0
        const containerPort = numberMember(port, 'containerPort')
        const field = (name: string): string => fieldAt(at, list, index, 'ports', place, name)
        if (isOnHost && hostPort !== containerPort) {
          const words = 'must match `hostPort` when `hostNetwork` is true'
          found.add(invalid(field('containerPort'), containerPort ?? undefined, words))
        }
        if (hostPort === 0) return
        const taken = `${textMember(port, 'protocol')}/${textMember(port, 'hostIP')}/${hostPort}`
        // Regular containers run at the same time, init containers one after the other.
        if (list === 'containers' && seen.has(taken)) found.add(duplicate(field('hostPort'), taken))
        seen.add(taken)
      })
    })
  }
}

const SECONDS_MAX = 2 ** 31 - 1

function checkDeadline(spec: JsonObject, at: Path | null, found: Findings): void {
  const seconds = integerMember(spec, 'activeDeadlineSeconds')
  if (seconds === null || (seconds >= 1 && seconds <= SECONDS_MAX)) return
  const words = `must be between 1 and ${SECONDS_MAX}, inclusive`
  found.add(invalid(fieldAt(at, 'activeDeadlineSeconds'), seconds, words))
}

function checkNodeLabels(spec: JsonObject, at: Path | null, found: Findings): void {
  const wanted = objectMember(spec, 'nodeSelector')
  const labels = Object.keys(wanted).map((key) => [key, textMember(wanted, key)] as const)
  validateLabels(Object.fromEntries(labels), fieldAt(at, 'nodeSelector'), found)
}

function checkProcesses(spec: JsonObject, at: Path | null, found: Findings): void {
  if (memberOf(spec, 'hostPID') === true && memberOf(spec, 'shareProcessNamespace') === true) {
    const words = 'ShareProcessNamespace and HostPID cannot both be enabled'
    found.add(invalid(fieldAt(at, 'shareProcessNamespace'), true, words))
  }
  if (textMember(spec, 'serviceAccountName') !== '') return
  objectsMember(spec, 'volumes').forEach((volume, index) => {
    objectsMember(objectMember(volume, 'projected'), 'sources').forEach((source, place) => {
      if (!Object.hasOwn(source, 'serviceAccountToken')) return
      const field = fieldAt(at, 'volumes', index, 'projected', 'sources', place, 'serviceAccountToken')
      found.add(fieldForbidden(field, 'must not be specified when serviceAccountName is not set'))
    })
  })
}
