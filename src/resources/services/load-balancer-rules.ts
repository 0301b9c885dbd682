import { isIP } from 'node:net'
import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectsMember, textMember } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'

/** @source upstream `pkg/apis/core/validation`, ValidateLoadBalancerStatus */
export function checkLoadBalancer(status: JsonObject, at: Path | null, found: Findings): void {
  for (const [index, ingress] of objectsMember(status, 'ingress').entries()) {
    const [ip, hostname] = [textMember(ingress, 'ip'), textMember(ingress, 'hostname')]
    const field = (name: string): string => fieldAt(at, 'ingress', index, name)
    if (ip !== '' && isIP(ip) === 0) found.add(invalid(field('ip'), ip, 'must be a valid IP address'))
    for (const words of hostname === '' ? [] : checkDns1123Subdomain(hostname))
      found.add(invalid(field('hostname'), hostname, words))
    if (isIP(hostname) !== 0)
      found.add(invalid(field('hostname'), hostname, 'must be a DNS name, not an IP address'))
  }
}

/** Returns the addresses of a load balancer, sorted, separated by commas. */
export function loadBalancerText(status: JsonObject): string {
  const all = objectsMember(status, 'ingress').map(
    (ingress) => textMember(ingress, 'ip') || textMember(ingress, 'hostname'),
  )
  return [...new Set(all.filter((one) => one !== ''))].sort().join(',')
}
