import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { containerLists } from '../containers/container-lists.ts'

/**
 * Rejects fields that the operating system of a Pod does not support. If any container is a Windows
 * host process, all must be, and the Pod must use the network of its host.
 *
 * @param at of the spec
 * @source core `pkg/apis/core/validation`, validateWindows, validateLinux,
 * validateWindowsHostProcessPod
 */
export function checkOperatingSystem(spec: JsonObject, at: Path | null, found: Findings): void {
  const os = textMember(objectMember(spec, 'os'), 'name')
  if (os === 'windows') {
    checkWindows(spec, at, found)
    checkHostProcesses(spec, at, found)
    return
  }
  if (os === 'linux') {
    checkLinux(spec, at, found)
    return
  }
  checkHostProcesses(spec, at, found)
}

const notForWindowsPods = [
  ...['seLinuxOptions', 'seccompProfile', 'fsGroup', 'fsGroupChangePolicy', 'sysctls'],
  ...['runAsUser', 'runAsGroup', 'supplementalGroups'],
]

const notForWindowsContainers = [
  ...['seLinuxOptions', 'seccompProfile', 'capabilities', 'readOnlyRootFilesystem', 'privileged'],
  ...['allowPrivilegeEscalation', 'procMount', 'runAsUser', 'runAsGroup'],
]

function checkWindows(spec: JsonObject, at: Path | null, found: Findings): void {
  const words = 'cannot be set for a windows pod'
  const context = objectMember(spec, 'securityContext')
  for (const name of notForWindowsPods) {
    if (Object.hasOwn(context, name)) found.add(fieldForbidden(fieldAt(at, 'securityContext', name), words))
  }
  for (const name of ['hostPID', 'hostIPC', 'shareProcessNamespace']) {
    if (memberOf(spec, name) === true) found.add(fieldForbidden(fieldAt(at, name), words))
  }
  eachContext(spec, (own, list, index) => {
    for (const name of notForWindowsContainers) {
      if (!Object.hasOwn(own, name)) continue
      found.add(fieldForbidden(fieldAt(at, list, index, 'securityContext', name), words))
    }
  })
}

function checkLinux(spec: JsonObject, at: Path | null, found: Findings): void {
  const words = 'windows options cannot be set for a linux pod'
  const field = ['securityContext', 'windowsOptions'] as const
  if (Object.hasOwn(objectMember(spec, 'securityContext'), 'windowsOptions')) {
    found.add(fieldForbidden(fieldAt(at, ...field), words))
  }
  eachContext(spec, (own, list, index) => {
    if (Object.hasOwn(own, 'windowsOptions')) {
      found.add(fieldForbidden(fieldAt(at, list, index, ...field), words))
    }
  })
}

function checkHostProcesses(spec: JsonObject, at: Path | null, found: Findings): void {
  const inPod = hostProcessOf(objectMember(spec, 'securityContext'))
  let [some, all] = [false, true]
  eachContext(spec, (own, list, index) => {
    const given = hostProcessOf(own)
    if (inPod !== null && given !== null && given !== inPod) {
      const field = fieldAt(at, list, index, 'securityContext', 'windowsOptions', 'hostProcess')
      found.add(
        invalid(field, given, `pod hostProcess value must be identical if both are specified, was ${inPod}`),
      )
    }
    const on = given ?? inPod ?? false
    some ||= on
    all &&= on
  })
  if (!some) return
  if (!all) {
    const words =
      'If pod contains any hostProcess containers then all containers must be HostProcess containers'
    found.add(invalid(fieldAt(at), '', words))
  }
  if (memberOf(spec, 'hostNetwork') !== true) {
    const words = 'hostNetwork must be true if pod contains any hostProcess containers'
    found.add(invalid(fieldAt(at, 'hostNetwork'), false, words))
  }
}

/** @returns null: it is unset */
function hostProcessOf(context: JsonObject): boolean | null {
  const given = memberOf(objectMember(context, 'windowsOptions'), 'hostProcess')
  return typeof given === 'boolean' ? given : null
}

function eachContext(
  spec: JsonObject,
  look: (context: JsonObject, list: string, index: number) => void,
): void {
  for (const list of containerLists) {
    objectsMember(spec, list).forEach((container, index) => {
      look(objectMember(container, 'securityContext'), list, index)
    })
  }
}
