import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import { checkDns1123Subdomain, checkQualifiedName } from '../../api/metadata/name-rules.ts'
import { checkIpAddress } from '../common/ip-address.ts'

/**
 * Validates a status update of a Pod.
 *
 * @param pod the whole Pod with the new status
 * @source core `pkg/apis/core/validation`, ValidatePodStatusUpdate
 */
export function checkPodStatus(pod: JsonObject, current: JsonObject, found: Findings): void {
  const [status, old] = [objectMember(pod, 'status'), objectMember(current, 'status')]
  const node = textMember(status, 'nominatedNodeName')
  const policy = textMember(objectMember(current, 'spec'), 'restartPolicy')
  for (const list of ['containerStatuses', 'initContainerStatuses'])
    checkTransitions(objectsMember(status, list), objectsMember(old, list), { list, policy }, found)
  for (const words of node === '' ? [] : checkDns1123Subdomain(node))
    found.add(invalid('status.nominatedNodeName', node, words))
  checkAddresses(status, found)
  checkConditions(status, found)
}

/** A terminated container stays terminated unless it is restarted. */
function checkTransitions(
  now: readonly JsonObject[],
  before: readonly JsonObject[],
  { list, policy }: { readonly list: string; readonly policy: string },
  found: Findings,
): void {
  if (policy === 'Always') return
  const ended = new Set<string>()
  for (const status of before) {
    const terminated = memberOf(objectMember(status, 'state'), 'terminated')
    if (terminated === undefined) continue
    const failed = numberMember(objectMember(objectMember(status, 'state'), 'terminated'), 'exitCode') !== 0
    if (!(failed && policy === 'OnFailure')) ended.add(textMember(status, 'name'))
  }
  for (const [index, status] of now.entries()) {
    const left =
      ended.has(textMember(status, 'name')) && !Object.hasOwn(objectMember(status, 'state'), 'terminated')
    if (!left) continue
    found.add(
      fieldForbidden(`status.${list}[${index}].state`, 'may not be transitioned to non-terminated state'),
    )
  }
}

function checkAddresses(status: JsonObject, found: Findings): void {
  const field = 'status.podIPs'
  const addresses = objectsMember(status, 'podIPs').map((one) => textMember(one, 'ip'))
  const before = found.count
  const seen = new Set<string>()
  addresses.forEach((ip, index) => {
    for (const words of checkIpAddress(ip)) found.add(invalid(`${field}[${index}]`, ip, words))
    if (seen.has(ip)) found.add(duplicate(`${field}[${index}]`, ip))
    seen.add(ip)
  })
  if (found.count > before || addresses.length <= 1) return
  const families = new Set(addresses.map((ip) => ip.includes(':')))
  if (addresses.length === families.size) return
  found.add(invalid(field, addresses, 'may specify no more than one IP for each IP family'))
}

/** The standard condition types. */
const usual = ['Ready', 'PodScheduled', 'Initialized', 'ContainersReady']

function checkConditions(status: JsonObject, found: Findings): void {
  objectsMember(status, 'conditions').forEach((condition, index) => {
    const type = textMember(condition, 'type')
    if (usual.includes(type)) return
    for (const words of checkQualifiedName(type)) {
      found.add(invalid(`status.conditions[${index}].type`, type, words))
    }
  })
}
