import { isIPv4, isIPv6 } from 'node:net'
import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid } from '../../api/errors/field-error.ts'
import { goListOf, goTexts } from '../../api/errors/go-values.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, textMember, textsMember } from '../../api/json.ts'
import { checkIpAddress } from '../common/ip-address.ts'

const NONE = 'None'
const IPS = 'spec.clusterIPs'
const FORMATS = { clusterIPs: goTexts, ipFamilies: goListOf('core.IPFamily') } as const

/** Returns whether a Service has no cluster address on purpose. */
export function isHeadless(spec: JsonObject): boolean {
  return textsMember(spec, 'clusterIPs')[0] === NONE || textMember(spec, 'clusterIP') === NONE
}

/**
 * Checks cluster addresses, and their families.
 *
 * @source upstream `pkg/apis/core/validation`, ValidateServiceClusterIPsRelatedFields
 */
export function checkServiceAddresses(spec: JsonObject, found: Findings): void {
  const [ips, families] = [textsMember(spec, 'clusterIPs'), textsMember(spec, 'ipFamilies')]
  checkForType(spec, found)
  const seen = new Set<string>()
  for (const [index, family] of families.entries()) {
    if (seen.has(family)) found.add(duplicate(`spec.ipFamilies[${index}]`, family))
    seen.add(family)
    if (found.isFull) return
  }
  if (textMember(spec, 'type') === 'ExternalName') return
  checkFirst(spec, ips, found)
  if (!areAddresses(ips, found)) return
  if (ips.length > 1 && new Set(ips.map(isIPv6)).size < ips.length)
    found.add(invalid(IPS, ips, 'may specify no more than one IP for each IP family', goTexts))
  if (ips[0] === NONE) return
  for (const [index, ip] of ips.entries()) {
    const family = families[index]
    if (family === undefined || (family === 'IPv4' ? isIPv4(ip) : isIPv6(ip))) continue
    const words = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``
    found.add(invalid(`${IPS}[${index}]`, ip, words))
  }
}

function checkForType(spec: JsonObject, found: Findings): void {
  const type = textMember(spec, 'type')
  if ((type === 'LoadBalancer' || type === 'NodePort') && isHeadless(spec))
    found.add(invalid(`${IPS}[0]`, NONE, `may not be set to 'None' for ${type} services`))
  if (type !== 'ExternalName') return
  for (const name of ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
    if (memberOf(spec, name) !== undefined)
      found.add(fieldForbidden(`spec.${name}`, 'may not be set for ExternalName services'))
  }
}

function checkFirst(spec: JsonObject, ips: readonly string[], found: Findings): void {
  const first = textMember(spec, 'clusterIP')
  if (ips.length === 0 || ips[0] === first) return
  const words =
    first === '' ? 'must be empty when `clusterIP` is not specified' : 'first value must match `clusterIP`'
  found.add(invalid(IPS, ips, words, goTexts))
}

/** @returns false: some are no addresses, or they are too many */
function areAddresses(ips: readonly string[], found: Findings): boolean {
  let valid = true
  if (ips.length > 2) found.add(invalid(IPS, ips, 'may only hold up to 2 values', goTexts))
  for (const [index, ip] of ips.slice(0, 3).entries()) {
    if (index === 0 && ip === NONE) {
      if (ips.length === 1) continue
      found.add(invalid(IPS, ips, "'None' must be the first and only value", goTexts))
      valid = false
      continue
    }
    const wrong = checkIpAddress(ip)
    for (const words of wrong) found.add(invalid(`${IPS}[${index}]`, ip, words))
    valid &&= wrong.length === 0
  }
  return valid && ips.length <= 2
}

/**
 * Checks that the first cluster address and family stay, and the second unless the client requests
 * its release. A Service that stays headless may change its families, and one whose type is or was
 * ExternalName all of them.
 *
 * @source upstream `pkg/apis/core/validation`, validateUpgradeDowngradeClusterIPs
 */
export function checkAddressChange(spec: JsonObject, before: JsonObject, found: Findings): void {
  if (textMember(spec, 'type') === 'ExternalName' || textMember(before, 'type') === 'ExternalName') return
  if (isHeadless(spec) && isHeadless(before)) return
  for (const [name, singular] of [
    ['clusterIPs', 'clusterIP'],
    ['ipFamilies', 'ipFamily'],
  ] as const) {
    const [now, old] = [textsMember(spec, name), textsMember(before, name)]
    if (now.length === 0 && old.length > 0)
      found.add(invalid(`spec.${name}[0]`, now, `primary ${singular} can not be unset`, FORMATS[name]))
    const compared = now.length === old.length ? now.length : 1
    for (let index = 0; index < Math.min(compared, now.length, old.length); index++)
      if (now[index] !== old[index])
        found.add(invalid(`spec.${name}[${index}]`, now, 'may not change once set', FORMATS[name]))
    const policy = textMember(spec, 'ipFamilyPolicy')
    if (now.length === 1 && old.length > 1 && policy !== 'SingleStack') {
      const words = `must be set to 'SingleStack' when releasing the secondary ${singular}`
      found.add(invalid('spec.ipFamilyPolicy', policy, words))
    }
  }
}
