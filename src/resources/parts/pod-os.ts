import type { ApiErrorCause } from '../../api/api-error.ts'
import { fieldForbidden, invalid } from '../../api/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { containerLists } from './container-lists.ts'

/**
 * What means nothing to the operating system that a Pod is made for is refused, and containers that run on the node
 * itself do so all together.
 *
 * @param at of the spec
 * @source core `pkg/apis/core/validation`, validateWindows, validateLinux, validateWindowsHostProcessPod
 */
export function checkOperatingSystem(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const os = textMember(objectMember(spec, 'os'), 'name')
  if (os === 'windows') return [...checkWindows(spec, at), ...checkHostProcesses(spec, at)]
  if (os === 'linux') return checkLinux(spec, at)
  return checkHostProcesses(spec, at)
}

const notForWindowsPods = [
  ...['seLinuxOptions', 'seccompProfile', 'fsGroup', 'fsGroupChangePolicy', 'sysctls'],
  ...['runAsUser', 'runAsGroup', 'supplementalGroups'],
]

const notForWindowsContainers = [
  ...['seLinuxOptions', 'seccompProfile', 'capabilities', 'readOnlyRootFilesystem', 'privileged'],
  ...['allowPrivilegeEscalation', 'procMount', 'runAsUser', 'runAsGroup'],
]

function checkWindows(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const words = 'cannot be set for a windows pod'
  const causes: ApiErrorCause[] = []
  const context = objectMember(spec, 'securityContext')
  for (const name of notForWindowsPods) {
    if (Object.hasOwn(context, name)) causes.push(fieldForbidden(fieldAt(at, 'securityContext', name), words))
  }
  for (const name of ['hostPID', 'hostIPC', 'shareProcessNamespace']) {
    if (memberOf(spec, name) === true) causes.push(fieldForbidden(fieldAt(at, name), words))
  }
  eachContext(spec, (own, list, index) => {
    for (const name of notForWindowsContainers) {
      if (!Object.hasOwn(own, name)) continue
      causes.push(fieldForbidden(fieldAt(at, list, index, 'securityContext', name), words))
    }
  })
  return causes
}

function checkLinux(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const words = 'windows options cannot be set for a linux pod'
  const causes: ApiErrorCause[] = []
  const field = ['securityContext', 'windowsOptions'] as const
  if (Object.hasOwn(objectMember(spec, 'securityContext'), 'windowsOptions')) {
    causes.push(fieldForbidden(fieldAt(at, ...field), words))
  }
  eachContext(spec, (own, list, index) => {
    if (Object.hasOwn(own, 'windowsOptions')) {
      causes.push(fieldForbidden(fieldAt(at, list, index, ...field), words))
    }
  })
  return causes
}

function checkHostProcesses(spec: JsonObject, at: Path | null): readonly ApiErrorCause[] {
  const inPod = hostProcessOf(objectMember(spec, 'securityContext'))
  let [some, all] = [false, true]
  const causes: ApiErrorCause[] = []
  eachContext(spec, (own, list, index) => {
    const said = hostProcessOf(own)
    if (inPod !== null && said !== null && said !== inPod) {
      const field = fieldAt(at, list, index, 'securityContext', 'windowsOptions', 'hostProcess')
      causes.push(
        invalid(field, said, `pod hostProcess value must be identical if both are specified, was ${inPod}`),
      )
    }
    const on = said ?? inPod ?? false
    some ||= on
    all &&= on
  })
  if (!some) return causes
  if (!all) {
    const words =
      'If pod contains any hostProcess containers then all containers must be HostProcess containers'
    causes.push(invalid(fieldAt(at), '', words))
  }
  if (memberOf(spec, 'hostNetwork') !== true) {
    const words = 'hostNetwork must be true if pod contains any hostProcess containers'
    causes.push(invalid(fieldAt(at, 'hostNetwork'), false, words))
  }
  return causes
}

/** null: it does not say. */
function hostProcessOf(context: JsonObject): boolean | null {
  const said = memberOf(objectMember(context, 'windowsOptions'), 'hostProcess')
  return typeof said === 'boolean' ? said : null
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
