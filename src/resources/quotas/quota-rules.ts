import type { Findings } from '../../api/errors/findings.ts'
import { invalid, keyPath, required } from '../../api/errors/field-error.ts'
import { goListOf, goTexts } from '../../api/errors/go-values.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import {
  isJsonObject,
  memberOf,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../api/json.ts'
import { parseQuantity } from '../../api/schema/quantity.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { QUOTA_SCOPES } from '../../registry/quota/scopes.ts'
import { checkNotNegative } from '../common/amounts.ts'
import {
  checkQuotaResourceName,
  isCountedResource,
  isScopeFor,
  isStandardQuotaResource,
} from './quota-resources.ts'

const WHOLE = 10n ** 9n
const goScopes = goListOf('core.ResourceQuotaScope')
const OPPOSITES = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const

/** @source core `pkg/apis/core/validation`, ValidateResourceQuotaSpec */
export function checkQuota(object: AnyObject, found: Findings): void {
  const spec = objectMember(object, 'spec')
  checkQuotaAmounts(objectMember(spec, 'hard'), 'spec.hard', found)
  const limited = Object.keys(objectMember(spec, 'hard')).filter(isStandardQuotaResource)
  const scopes = textsMember(spec, 'scopes')
  if (scopes.length > 0) checkScopes(scopes, limited, found)
  if (memberOf(spec, 'scopeSelector') !== undefined) checkSelector(spec, limited, found)
}

/** Scopes are immutable: they select what was counted so far. */
export function checkQuotaUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const sorted = (of: AnyObject): string =>
    [...new Set(textsMember(objectMember(of, 'spec'), 'scopes'))].sort().join()
  if (sorted(object) === sorted(current)) return
  found.add(invalid('spec.scopes', memberOf(objectMember(object, 'spec'), 'scopes'), 'field is immutable'))
}

export function checkQuotaStatus(object: AnyObject, found: Findings): void {
  const status = objectMember(object, 'status')
  for (const name of ['hard', 'used']) checkQuotaAmounts(objectMember(status, name), `status.${name}`, found)
}

function checkQuotaAmounts(amounts: JsonObject, field: string, found: Findings): void {
  for (const name of Object.keys(amounts)) {
    const at = keyPath(field, name)
    for (const words of checkQuotaResourceName(name)) found.add(invalid(at, name, words))
    const amount = textMember(amounts, name)
    checkNotNegative(amount, at, found)
    const quantity = parseQuantity(amount)
    if (quantity === null || !isCountedResource(name) || quantity.nanos % WHOLE === 0n) continue
    found.add(invalid(at, amount, 'must be an integer'))
  }
}

function checkScopes(scopes: readonly string[], limited: readonly string[], found: Findings): void {
  const field = 'spec.scopes'
  for (const scope of scopes) {
    if (found.isFull) return
    if (!QUOTA_SCOPES.includes(scope)) {
      found.add(invalid(field, scopes, 'unsupported scope', goScopes))
      continue
    }
    if (limited.some((name) => !isScopeFor(scope, name)))
      found.add(invalid(field, scopes, 'unsupported scope applied to resource', goScopes))
  }
  if (hasOpposites(scopes)) found.add(invalid(field, scopes, 'conflicting scopes', goScopes))
}

function hasOpposites(scopes: readonly string[]): boolean {
  return OPPOSITES.some((pair) => pair.every((scope) => scopes.includes(scope)))
}

function checkSelector(spec: JsonObject, limited: readonly string[], found: Findings): void {
  const field = 'spec.scopeSelector.matchExpressions'
  const selector = objectMember(spec, 'scopeSelector')
  const expressions = objectsMember(selector, 'matchExpressions')
  const names = expressions.map((expression) => textMember(expression, 'scopeName'))
  for (const [index, expression] of expressions.entries()) {
    const at = `${field}[${index}]`
    const scope = textMember(expression, 'scopeName')
    const isKnown = QUOTA_SCOPES.includes(scope)
    if (isKnown && limited.some((name) => !isScopeFor(scope, name)))
      found.add(invalid(field, selector, 'unsupported scope applied to resource', goScopeSelector))
    checkExpression(expression, scope, at, found)
  }
  if (hasOpposites(names)) found.add(invalid(field, selector, 'conflicting scopes', goScopeSelector))
}

function checkExpression(expression: JsonObject, scope: string, at: string, found: Findings): void {
  const operator = textMember(expression, 'operator')
  const values = textsMember(expression, 'values')
  if (QUOTA_SCOPES.includes(scope) && scope !== 'PriorityClass' && operator !== 'Exists') {
    const words =
      "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
      'ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity'
    found.add(invalid(`${at}.operator`, operator, words))
  }
  const isList = operator === 'In' || operator === 'NotIn'
  if (isList && values.length === 0) {
    const words = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
    found.add(required(`${at}.values`, words))
  }
  if (!isList && operator !== '' && values.length > 0) {
    const words = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
    found.add(invalid(`${at}.values`, [...values], words, goTexts))
  }
}

/** Formats a selector of scopes as upstream's messages do, in the syntax of Go. */
function goScopeSelector(value: Json | undefined): string {
  const type = 'core.ScopedResourceSelectorRequirement'
  const items = objectsMember(isJsonObject(value) ? value : {}, 'matchExpressions').map((one) => {
    const [scope, operator] = ['scopeName', 'operator'].map((name) => JSON.stringify(textMember(one, name)))
    return `${type}{ScopeName:${scope}, Operator:${operator}, Values:${goTexts(memberOf(one, 'values'))}}`
  })
  return `core.ScopeSelector{MatchExpressions:[]${type}{${items.join(', ')}}}`
}
