import { isJsonList, isJsonObject, memberOf, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import type { PodScopes } from '../registry/quota/pod-usage.ts'
import { appliesTo, QUOTA_SCOPES, scopeRequirementOf } from '../registry/quota/scopes.ts'
import type { ScopeRequirement } from '../registry/quota/scopes.ts'
import { isPods, isUncounted } from '../registry/quota/usage.ts'
import type { Place } from '../registry/quota/usage.ts'
import type { ConfigurationShape } from './plugin-configuration.ts'

/** A resource that is consumed only where a quota limits it. */
export type LimitedResource = {
  /** The kind whose objects consume it. */
  readonly place: Place
  /** Parts of the names of the resources, such as `.storageclass.storage.k8s.io/`. */
  readonly matchContains: readonly string[]
  /** Scopes of Pods that need a quota with the same scope. */
  readonly matchScopes: readonly ScopeRequirement[]
}

/** The usage that a write adds to its namespace. */
export type Consumption = {
  readonly amounts: Amounts
  /** null: not a Pod. */
  readonly scopes: PodScopes | null
  /** Those of the Pod as stored; null: it is new. */
  readonly scopesBefore: PodScopes | null
}

/** The resources and scopes that the quotas of a namespace limit for an object. */
export type Coverage = {
  /** Resources that a quota limits whose scopes all apply to the object. */
  readonly resources: ReadonlySet<string>
  /** Scopes of any quota that apply to the object. */
  readonly scopes: ReadonlySet<string>
}

/**
 * Returns why a write needs a further quota, in upstream's words; null: it needs none.
 *
 * @source apiserver `pkg/admission/plugin/resourcequota`, CheckRequest
 */
export function whyUncovered(
  limited: readonly LimitedResource[],
  of: { readonly place: Place; readonly consumption: Consumption; readonly coverage: Coverage },
): string | null {
  const { place, consumption, coverage } = of
  const ofKind = limited.filter((one) => isSamePlace(one.place, place))
  const parts = ofKind.flatMap(({ matchContains }) => matchContains)
  const isLimited = (name: string): boolean => parts.some((part) => name.includes(part))
  const consumed = [...consumption.amounts].filter(([, { nanos }]) => nanos > 0n).map(([name]) => name)
  const uncovered = consumed.filter((name) => isLimited(name) && !coverage.resources.has(name))
  if (uncovered.length > 0) return `insufficient quota to consume: ${uncovered.sort().join(',')}`
  const { scopes, scopesBefore } = consumption
  if (scopes === null) return null
  const entered = ofKind
    .flatMap(({ matchScopes }) => matchScopes)
    .filter((one) => appliesTo(one, scopes) && !(scopesBefore !== null && appliesTo(one, scopesBefore)))
  const open = entered.filter(({ scope }) => !coverage.scopes.has(scope))
  return open.length === 0
    ? null
    : `insufficient quota to match these scopes: [${open.map(spelled).join(' ')}]`
}

function isSamePlace(a: Place, b: Place): boolean {
  return a.group === b.group && a.plural === b.plural
}

/** Formats a requirement as Go prints it. */
function spelled({ scope, operator, values }: ScopeRequirement): string {
  return `{${scope} ${operator} [${values.join(' ')}]}`
}

/** @source apiserver `pkg/admission/plugin/resourcequota/apis` */
export function limitedResourcesShape(names: Names, given: JsonObject): ConfigurationShape {
  const members = ['limitedResources']
  if (textMember(given, 'kind') === 'Configuration') {
    const group = names.group('resourcequota.admission')
    return { kind: 'Configuration', apiVersions: [`${group}/v1beta1`, `${group}/v1alpha1`], members }
  }
  const apiVersions = [`${names.group('apiserver.config')}/v1`]
  return { kind: 'ResourceQuotaConfiguration', apiVersions, members }
}

type Problem = (words: string) => void

/**
 * Reads the `limitedResources` of a configuration whose shape was checked.
 *
 * @param given null: no configuration
 * @param problem called with each thing that is wrong
 */
export function readLimitedResources(given: JsonObject | null, problem: Problem): readonly LimitedResource[] {
  if (given === null) return []
  const list = memberOf(given, 'limitedResources') ?? []
  if (!isJsonList(list)) {
    problem('limitedResources: must be a list')
    return []
  }
  return list.flatMap((entry, at) => {
    if (isJsonObject(entry)) return [readEntry(entry, `limitedResources[${at}]`, problem)]
    problem(`limitedResources[${at}]: must be an object with resource and matchContains or matchScopes`)
    return []
  })
}

const MEMBERS: readonly string[] = ['apiGroup', 'resource', 'matchContains', 'matchScopes']

function readEntry(entry: JsonObject, where: string, problem: Problem): LimitedResource {
  checkFields(entry, MEMBERS, where, problem)
  const plural = textMember(entry, 'resource')
  const place = { group: textMember(entry, 'apiGroup'), plural }
  if (plural === '') problem(`${where}.resource: Required value: the plural name of a kind, such as pods`)
  if (isUncounted(place)) problem(`${where}.resource: no quota counts ${plural}`)
  const matchContains = textsMember(entry, 'matchContains')
  checkTexts(entry, 'matchContains', where, problem)
  const scopes = memberOf(entry, 'matchScopes') ?? []
  if (!isJsonList(scopes) || !scopes.every(isJsonObject))
    problem(`${where}.matchScopes: must be a list of scopes`)
  const given = objectsMember(entry, 'matchScopes')
  for (const [at, one] of given.entries()) checkScope(one, `${where}.matchScopes[${at}]`, problem)
  if (given.length > 0 && !isPods(place)) problem(`${where}.matchScopes: only the resource pods has scopes`)
  if (given.length + matchContains.length === 0) {
    problem(`${where}: limits nothing without matchContains or matchScopes`)
  }
  return { place, matchContains, matchScopes: given.map(scopeRequirementOf) }
}

function checkFields(entry: JsonObject, known: readonly string[], where: string, problem: Problem): void {
  for (const name of Object.keys(entry)) {
    if (!known.includes(name)) problem(`${where}.${name}: unknown field; the fields are ${known.join(', ')}`)
  }
}

function checkTexts(entry: JsonObject, name: string, where: string, problem: Problem): void {
  const list = memberOf(entry, name) ?? []
  const isTexts = isJsonList(list) && list.every((one) => typeof one === 'string')
  if (!isTexts) problem(`${where}.${name}: must be a list of texts`)
}

const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist']

/** Checks a scope in the same way as the scope selectors of quotas. */
function checkScope(given: JsonObject, where: string, problem: Problem): void {
  checkFields(given, ['scopeName', 'operator', 'values'], where, problem)
  const { scope, operator, values } = scopeRequirementOf(given)
  if (!QUOTA_SCOPES.includes(scope)) problem(`${where}.scopeName: must be one of ${QUOTA_SCOPES.join(', ')}`)
  const operators = scope === 'PriorityClass' ? OPERATORS : ['Exists']
  if (!operators.includes(operator)) problem(`${where}.operator: must be ${operators.join(' or ')}`)
  checkTexts(given, 'values', where, problem)
  const needsValues = operator === 'In' || operator === 'NotIn'
  if (needsValues && values.length === 0) problem(`${where}.values: In and NotIn need at least one value`)
  if (!needsValues && values.length > 0) problem(`${where}.values: only In and NotIn have values`)
}
