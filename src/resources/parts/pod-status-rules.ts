import type { ApiErrorCause } from '../../api/api-error.ts'
import { duplicate, fieldForbidden, invalid } from '../../api/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import { checkDns1123Subdomain, checkQualifiedName } from '../../api/name-rules.ts'
import { checkIpAddress } from './ip-address.ts'

/**
 * What a node may not tell of a Pod.
 *
 * @param pod the whole one, with the new status
 * @source core `pkg/apis/core/validation`, ValidatePodStatusUpdate
 */
export function checkPodStatus(pod: JsonObject, current: JsonObject): readonly ApiErrorCause[] {
  const [status, old] = [objectMember(pod, 'status'), objectMember(current, 'status')]
  const node = textMember(status, 'nominatedNodeName')
  const policy = textMember(objectMember(current, 'spec'), 'restartPolicy')
  const statuses = ['containerStatuses', 'initContainerStatuses'].flatMap((list) =>
    checkTransitions(objectsMember(status, list), objectsMember(old, list), { list, policy }),
  )
  return [
    ...(node === '' ? [] : checkDns1123Subdomain(node)).map((words) =>
      invalid('status.nominatedNodeName', node, words),
    ),
    ...statuses,
    ...checkAddresses(status),
    ...checkConditions(status),
  ]
}

/** Whoever has ended stays so, unless it is to be started anew. */
function checkTransitions(
  now: readonly JsonObject[],
  before: readonly JsonObject[],
  { list, policy }: { readonly list: string; readonly policy: string },
): readonly ApiErrorCause[] {
  if (policy === 'Always') return []
  const ended = new Set<string>()
  for (const status of before) {
    const terminated = memberOf(objectMember(status, 'state'), 'terminated')
    if (terminated === undefined) continue
    const failed = numberMember(objectMember(objectMember(status, 'state'), 'terminated'), 'exitCode') !== 0
    if (!(failed && policy === 'OnFailure')) ended.add(textMember(status, 'name'))
  }
  return now.flatMap((status, index) => {
    const left =
      ended.has(textMember(status, 'name')) && !Object.hasOwn(objectMember(status, 'state'), 'terminated')
    if (!left) return []
    return [
      fieldForbidden(`status.${list}[${index}].state`, 'may not be transitioned to non-terminated state'),
    ]
  })
}

function checkAddresses(status: JsonObject): readonly ApiErrorCause[] {
  const field = 'status.podIPs'
  const addresses = objectsMember(status, 'podIPs').map((one) => textMember(one, 'ip'))
  const causes: ApiErrorCause[] = []
  addresses.forEach((ip, index) => {
    for (const words of checkIpAddress(ip)) causes.push(invalid(`${field}[${index}]`, ip, words))
    if (addresses.indexOf(ip) < index) causes.push(duplicate(`${field}[${index}]`, ip))
  })
  if (causes.length > 0 || addresses.length <= 1) return causes
  const families = new Set(addresses.map((ip) => ip.includes(':')))
  if (addresses.length === families.size) return []
  return [invalid(field, addresses, 'may specify no more than one IP for each IP family')]
}

/** Those that everybody knows. */
const usual = ['Ready', 'PodScheduled', 'Initialized', 'ContainersReady']

function checkConditions(status: JsonObject): readonly ApiErrorCause[] {
  const causes: ApiErrorCause[] = []
  objectsMember(status, 'conditions').forEach((condition, index) => {
    const type = textMember(condition, 'type')
    if (usual.includes(type)) return
    for (const words of checkQualifiedName(type)) {
      causes.push(invalid(`status.conditions[${index}].type`, type, words))
    }
  })
  return causes
}
