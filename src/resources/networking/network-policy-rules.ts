import { BlockList, isIPv4 } from 'node:net'
import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, required } from '../../api/errors/field-error.ts'
import { goListOf } from '../../api/errors/go-values.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, numberMember, textMember, textsMember } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import { networkFamily } from '../common/network.ts'
import { checkPort, checkPortNumber } from '../containers/port.ts'

/** @source upstream `pkg/apis/networking/validation`, ValidateNetworkPolicyPort */
export function checkPolicyPort(value: JsonObject, at: Path | null, found: Findings): void {
  const port = memberOf(value, 'port')
  const end = numberMember(value, 'endPort')
  checkPort(port, fieldAt(at, 'port'), found)
  if (end === null) return
  const field = fieldAt(at, 'endPort')
  if (port === undefined) found.add(invalid(field, end, 'may not be specified when `port` is not specified'))
  else if (typeof port !== 'number')
    found.add(invalid(field, end, 'may not be specified when `port` is non-numeric'))
  else {
    if (end < port) found.add(invalid(field, end, 'must be greater than or equal to `port`'))
    for (const words of checkPortNumber(end)) found.add(invalid(field, end, words))
  }
}

/** @source upstream `pkg/apis/networking/validation`, ValidateNetworkPolicySpec */
export function checkPolicyTypes(spec: JsonObject, at: Path | null, found: Findings): void {
  const types = textsMember(spec, 'policyTypes')
  if (types.length <= 2) return
  const words = 'may not specify more than two policyTypes'
  found.add(invalid(fieldAt(at, 'policyTypes'), types, words, goListOf('networking.PolicyType')))
}

/** @source upstream `pkg/apis/networking/validation`, ValidateNetworkPolicyPeer */
export function checkPeer(peer: JsonObject, at: Path | null, found: Findings): void {
  const set = ['podSelector', 'namespaceSelector', 'ipBlock'].filter((name) => Object.hasOwn(peer, name))
  if (set.length === 0) found.add(required(spellPath(at), 'must specify a peer'))
  if (set.length > 1 && set.includes('ipBlock'))
    found.add(fieldForbidden(spellPath(at), 'may not specify both ipBlock and another peer'))
}

/** @source upstream `pkg/apis/networking/validation`, ValidateIPBlock */
export function checkBlock(block: JsonObject, at: Path | null, found: Findings): void {
  const cidr = textMember(block, 'cidr')
  if (cidr === '') return
  const family = networkFamily(cidr)
  if (family === null) {
    found.add(invalid(fieldAt(at, 'cidr'), cidr, 'not a valid CIDR'))
    return
  }
  const network = networkOf(cidr)
  for (const [index, except] of textsMember(block, 'except').entries()) {
    const field = fieldAt(at, 'except', index)
    if (networkFamily(except) === null) found.add(invalid(field, except, 'not a valid CIDR'))
    else if (!isStrictlyWithin(except, cidr, network))
      found.add(invalid(field, except, 'must be a strict subset of `cidr`'))
    if (found.isFull) return
  }
}

function networkOf(cidr: string): BlockList {
  const [address = '', bits = '0'] = cidr.split('/')
  const list = new BlockList()
  list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6')
  return list
}

function isStrictlyWithin(inner: string, outer: string, network: BlockList): boolean {
  const [address = '', bits = '0'] = inner.split('/')
  const isInside = network.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  return isInside && Number(bits) > Number(outer.split('/')[1] ?? '0')
}
