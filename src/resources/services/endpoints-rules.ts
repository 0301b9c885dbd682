import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectsMember, textMember } from '../../api/json.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import { checkIpAddress } from '../common/ip-address.ts'
import { checkOrdinaryAddress } from '../common/special-address.ts'

/** @source upstream `pkg/apis/core/validation`, validateEndpointAddress */
export function checkAddress(address: JsonObject, at: Path | null, found: Findings): void {
  const ip = textMember(address, 'ip')
  if (ip === '') return
  const wrong = checkIpAddress(ip)
  for (const words of wrong) found.add(invalid(fieldAt(at, 'ip'), ip, words))
  if (wrong.length === 0) checkOrdinaryAddress(ip, fieldAt(at, 'ip'), found)
}

/** @source upstream `pkg/apis/core/validation`, validateEndpointSubsets */
export function checkSubset(subset: JsonObject, at: Path | null, found: Findings): void {
  const isEmpty = ['addresses', 'notReadyAddresses'].every((name) => objectsMember(subset, name).length === 0)
  if (isEmpty) found.add(required(spellPath(at), 'must specify `addresses` or `notReadyAddresses`'))
  const ports = objectsMember(subset, 'ports')
  if (ports.length < 2) return
  for (const [index, port] of ports.entries())
    if (textMember(port, 'name') === '') found.add(required(fieldAt(at, 'ports', index, 'name')))
}
