import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, keyPath, required } from '../../api/errors/field-error.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { objectMember, setMember, textMember } from '../../api/json.ts'
import { checkQualifiedName } from '../../api/metadata/name-rules.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import { compareQuantities, formatQuantity, parseQuantity } from '../../api/schema/quantity.ts'
import type { Quantity } from '../../api/schema/quantity.ts'
import { isExtendedResource, isNativeResource } from '../../api/schema/resource-names.ts'
import { isStandardQuotaResource } from '../quotas/quota-resources.ts'

/**
 * Checks the resources of a container: names and amounts are valid, requests do not exceed limits,
 * resources that cannot be overcommitted have equal requests and limits, and huge pages come with
 * cpu or memory. Extended resources have integer amounts.
 *
 * @param at path of the requirements
 * @source core `pkg/apis/core/validation`, ValidateResourceRequirements
 */
export function checkContainerResources(resources: JsonObject, at: Path | null, found: Findings): void {
  const [limits, requests] = [objectMember(resources, 'limits'), objectMember(resources, 'requests')]
  checkAmounts(limits, fieldAt(at, 'limits'), found)
  checkAmounts(requests, fieldAt(at, 'requests'), found)
  checkRequests(limits, requests, at, found)
  const names = [...Object.keys(limits), ...Object.keys(requests)]
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    found.add(fieldForbidden(spellPath(at), 'HugePages require cpu or memory'))
  }
}

/** Checks the amounts of a container or of the overhead of a Pod. @param field of the map */
export function checkAmounts(amounts: JsonObject, field: string, found: Findings): void {
  for (const name of Object.keys(amounts)) {
    const path = keyPath(field, name)
    for (const words of checkContainerResourceName(name)) found.add(invalid(path, name, words))
    const quantity = parseQuantity(textMember(amounts, name))
    if (quantity === null) continue
    for (const words of checkAmount(name, quantity)) found.add(invalid(path, formatQuantity(quantity), words))
  }
}

/**
 * Defaults each missing request to its limit.
 *
 * @returns the identical object if nothing is missing
 */
export function requestsFromLimits(resources: JsonObject): JsonObject {
  const [limits, requests] = [objectMember(resources, 'limits'), objectMember(resources, 'requests')]
  const missing = Object.keys(limits).filter((name) => !Object.hasOwn(requests, name))
  if (missing.length === 0) return resources
  const draft: JsonObjectDraft = { ...requests }
  for (const name of missing) setMember(draft, name, textMember(limits, name))
  return { ...resources, requests: draft }
}

/**
 * Rounds amounts to thousandths, away from zero.
 *
 * @returns the identical resources if nothing changed
 */
export function roundedResources(resources: JsonObject): JsonObject {
  let draft: JsonObjectDraft | null = null
  for (const member of ['limits', 'requests']) {
    const amounts = objectMember(resources, member)
    // Copied once: a container may have thousands of them.
    let map: JsonObjectDraft | null = null
    for (const name of Object.keys(amounts)) {
      const rounded = roundedAmount(textMember(amounts, name))
      if (rounded === null) continue
      map ??= { ...amounts }
      setMember(map, name, rounded)
    }
    if (map === null) continue
    draft ??= { ...resources }
    draft[member] = map
  }
  return draft ?? resources
}

const MILLI = 10n ** 6n
const WHOLE = 10n ** 9n

/** @returns null: the amount is rounded already */
function roundedAmount(text: string): string | null {
  const quantity = parseQuantity(text)
  if (quantity === null) return null
  const over = quantity.nanos % MILLI
  if (over === 0n) return null
  const away = over > 0n ? MILLI - over : -MILLI - over
  return formatQuantity({ ...quantity, nanos: quantity.nanos + away })
}

function checkRequests(limits: JsonObject, requests: JsonObject, at: Path | null, found: Findings): void {
  for (const name of Object.keys(requests)) {
    const requested = parseQuantity(textMember(requests, name))
    if (requested === null) continue
    const allowed = Object.hasOwn(limits, name) ? parseQuantity(textMember(limits, name)) : null
    if (allowed === null) {
      if (isShareable(name)) continue
      found.add(required(fieldAt(at, 'limits'), 'Limit must be set for non overcommitable resources'))
      continue
    }
    const order = compareQuantities(requested, allowed)
    const field = fieldAt(at, 'requests')
    if (order !== 0 && !isShareable(name)) {
      found.add(invalid(field, formatQuantity(requested), `must be equal to ${name} limit`))
    } else {
      if (order > 0) {
        found.add(invalid(field, formatQuantity(requested), `must be less than or equal to ${name} limit`))
      }
    }
  }
}

/** Returns whether a resource can be overcommitted. */
function isShareable(name: string): boolean {
  return isNativeResource(name) && !isHugePages(name)
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-')
}

/** Returns violations of the rule for resources of containers. */
export function checkContainerResourceName(name: string): readonly string[] {
  const wrong = checkQualifiedName(name)
  if (wrong.length > 0) return wrong
  if (!name.includes('/')) {
    if (['cpu', 'memory', 'ephemeral-storage'].includes(name) || isHugePages(name)) return []
    const words = 'must be a standard resource for containers'
    return isStandardQuotaResource(name)
      ? [words]
      : ['must be a standard resource type or fully qualified', words]
  }
  return isNativeResource(name) || isExtendedResource(name)
    ? []
    : ["doesn't follow extended resource name standard"]
}

function checkAmount(name: string, quantity: Quantity): readonly string[] {
  if (quantity.nanos < 0n) return ['must be greater than or equal to 0']
  if (isExtendedResource(name)) return quantity.nanos % WHOLE === 0n ? [] : ['must be an integer']
  if (!isHugePages(name)) return []
  const page = parseQuantity(name.slice('hugepages-'.length))
  if (page === null || page.nanos <= 0n || quantity.nanos % page.nanos === 0n) return []
  return [`${formatQuantity(quantity)} is not positive integer multiple of ${name}`]
}
