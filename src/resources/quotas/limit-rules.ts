import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid, keyPath, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import { checkQualifiedName } from '../../api/metadata/name-rules.ts'
import { compareQuantities, formatQuantity, parseQuantity } from '../../api/schema/quantity.ts'
import type { Quantity } from '../../api/schema/quantity.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { checkContainerResourceName } from '../containers/container-resources.ts'
import { checkQuotaResourceName } from './quota-resources.ts'

const WHOLE = 10n ** 9n
const TYPES: readonly string[] = ['Pod', 'Container', 'PersistentVolumeClaim']
const AMOUNTS = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const

/** @source core `pkg/apis/core/validation`, ValidateLimitRange */
export function checkLimits(object: AnyObject, found: Findings): void {
  const types = new Set<string>()
  for (const [index, item] of objectsMember(objectMember(object, 'spec'), 'limits').entries()) {
    const at = `spec.limits[${index}]`
    const type = textMember(item, 'type')
    if (type !== '') for (const words of checkType(type)) found.add(invalid(`${at}.type`, type, words))
    if (types.has(type)) found.add(duplicate(`${at}.type`, type))
    types.add(type)
    checkNames(item, type, at, found)
    if (type === 'Pod') {
      for (const name of ['default', 'defaultRequest']) {
        if (Object.keys(objectMember(item, name)).length === 0) continue
        found.add(fieldForbidden(`${at}.${name}`, "may not be specified when `type` is 'Pod'"))
      }
    }
    if (type === 'PersistentVolumeClaim' && amountOf(item, 'min', 'storage') === null) {
      const words = 'either minimum or maximum storage value is required, but neither was provided'
      if (amountOf(item, 'max', 'storage') === null) found.add(required(`${at}.limits`, words))
    }
    const names = new Set(AMOUNTS.flatMap((member) => Object.keys(objectMember(item, member))))
    for (const name of names) checkAmountsOf(item, name, at, found)
  }
}

function checkType(type: string): readonly string[] {
  const words = checkQualifiedName(type)
  if (words.length > 0 || type.includes('/') || TYPES.includes(type)) return words
  return ['must be a standard limit type or fully qualified']
}

function checkNames(item: JsonObject, type: string, at: string, found: Findings): void {
  const rule = type === 'Pod' || type === 'Container' ? checkContainerResourceName : checkQuotaResourceName
  for (const member of AMOUNTS) {
    for (const name of Object.keys(objectMember(item, member))) {
      for (const words of rule(name)) found.add(invalid(keyPath(`${at}.${member}`, name), name, words))
    }
  }
}

function amountOf(item: JsonObject, member: string, name: string): Quantity | null {
  const amounts = objectMember(item, member)
  return memberOf(amounts, name) === undefined ? null : parseQuantity(textMember(amounts, name))
}

/** The field of the finding; the smaller amount and its words; the larger amount and its words. */
const ORDER = [
  ['min', 'min', 'min value', 'max', 'max value'],
  ['defaultRequest', 'min', 'min value', 'defaultRequest', 'default request value'],
  ['defaultRequest', 'defaultRequest', 'default request value', 'max', 'max value'],
  ['defaultRequest', 'defaultRequest', 'default request value', 'default', 'default limit value'],
  ['default', 'min', 'min value', 'default', 'default value'],
  ['default', 'default', 'default value', 'max', 'max value'],
] as const

function checkAmountsOf(item: JsonObject, name: string, at: string, found: Findings): void {
  const of = (member: string): Quantity | null => amountOf(item, member, name)
  for (const [field, low, lowWords, high, highWords] of ORDER) {
    const [smaller, larger] = [of(low), of(high)]
    if (smaller === null || larger === null || compareQuantities(smaller, larger) <= 0) continue
    const words = `${lowWords} ${formatQuantity(smaller)} is greater than ${highWords} ${formatQuantity(larger)}`
    found.add(invalid(keyPath(`${at}.${field}`, name), textMember(objectMember(item, field), name), words))
  }
  checkRatio(of, keyPath(`${at}.maxLimitRequestRatio`, name), found)
  const [limit, request] = [of('default'), of('defaultRequest')]
  const isFixed = name.includes('/') || name.startsWith('hugepages-')
  if (!isFixed || limit === null || request === null || compareQuantities(limit, request) === 0) return
  const words = `default value ${formatQuantity(limit)} must equal to defaultRequest value ${formatQuantity(request)} in ${name}`
  found.add(invalid(keyPath(`${at}.defaultRequest`, name), formatQuantity(request), words))
}

function checkRatio(of: (member: string) => Quantity | null, field: string, found: Findings): void {
  const ratio = of('maxLimitRequestRatio')
  if (ratio === null) return
  const shown = formatQuantity(ratio)
  if (ratio.nanos < WHOLE) found.add(invalid(field, shown, `ratio ${shown} is less than 1`))
  const [min, max] = [of('min'), of('max')]
  if (min === null || max === null || min.nanos <= 0n) return
  if (ratio.nanos * min.nanos <= max.nanos * WHOLE) return
  const limit = (Number(max.nanos) / Number(min.nanos)).toFixed(6)
  found.add(invalid(field, shown, `ratio ${shown} is greater than max/min = ${limit}`))
}
