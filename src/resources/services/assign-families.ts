import type { Finding } from '../../api/errors/field-error.ts'
import { invalid, invalidObject } from '../../api/errors/field-error.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { equalJson, memberOf, objectMember, textMember, textsMember } from '../../api/json.ts'
import { isHeadless } from './service-addresses.ts'
import type { Assignment } from './service-assignment.ts'
import { familyOf } from './service-ranges.ts'

const POLICY = 'spec.ipFamilyPolicy'

/** Returns whether the Service names a family that does not exist: its validation reports that. */
export function hasUnknownFamily(spec: JsonObject): boolean {
  return textsMember(spec, 'ipFamilies').some((family) => family !== 'IPv4' && family !== 'IPv6')
}

/**
 * Returns the spec of a stored Service with the families of its addresses, which older versions of
 * this server did not set.
 *
 * @source upstream `pkg/registry/core/service/storage/storage.go`, defaultOnReadIPFamilies
 */
export function withFamilies(spec: JsonObject): JsonObject {
  const ips = textsMember(spec, 'clusterIPs')
  if (ips.length === 0 || isHeadless(spec) || textsMember(spec, 'ipFamilies').length > 0) return spec
  const ipFamilyPolicy = ips.length === 1 ? 'SingleStack' : 'RequireDualStack'
  return { ipFamilyPolicy, ...spec, ipFamilies: ips.map(familyOf) }
}

/**
 * Sets `ipFamilyPolicy` where the client did not, and completes `ipFamilies`: from the addresses
 * that the client names, else from the ranges of this member.
 *
 * @throws ApiError
 * @source upstream `pkg/registry/core/service/storage/alloc.go`, initIPFamilyFields
 */
export function assignFamilies(spec: JsonObjectDraft, assignment: Assignment): void {
  const { before, ranges } = assignment
  if (textMember(spec, 'type') === 'ExternalName') return
  // An unchanged Service that prefers two families keeps its families when the ranges change.
  if (before !== null && isSameDualStack(spec, before)) return
  if (textMember(spec, 'ipFamilyPolicy') === '') spec['ipFamilyPolicy'] = defaultPolicy(spec, before)
  const policy = textMember(spec, 'ipFamilyPolicy')
  const isSingle = policy === 'SingleStack'
  if (before !== null && isSingle) dropSecond(spec, before)
  refuse(assignment, [...reductions(spec, before, isSingle), ...tooMany(spec, isSingle)])
  const configured = ranges.addresses.map(({ family }) => family as string)
  const families = familiesOfAddresses(spec)
  const first = configured[0] ?? 'IPv4'
  const withSecond = (list: readonly string[]): readonly string[] =>
    isSingle || list.length !== 1 ? list : [...list, list[0] === 'IPv4' ? 'IPv6' : 'IPv4']
  if (isSelectorlessHeadless(spec)) {
    spec['ipFamilies'] = withSecond(families.length === 0 ? [first] : families)
    return
  }
  const old = before === null ? [] : textsMember(before, 'ipFamilies')
  refuse(assignment, unconfigured(spec, { families, configured, old, policy }))
  const all = families.length === 0 ? [first] : families
  spec['ipFamilies'] = configured.length === 2 ? withSecond(all) : all
}

function defaultPolicy(spec: JsonObject, before: JsonObject | null): string {
  const old = before === null ? '' : textMember(before, 'ipFamilyPolicy')
  if (old !== '') return old
  return isSelectorlessHeadless(spec) ? 'RequireDualStack' : 'SingleStack'
}

function isSelectorlessHeadless(spec: JsonObject): boolean {
  return isHeadless(spec) && Object.keys(objectMember(spec, 'selector')).length === 0
}

function isSameDualStack(spec: JsonObject, before: JsonObject): boolean {
  const isSame = (name: string): boolean => equalJson(memberOf(spec, name), memberOf(before, name))
  const isPreferred = textMember(spec, 'ipFamilyPolicy') === 'PreferDualStack'
  return isPreferred && ['type', 'ipFamilyPolicy', 'clusterIPs', 'ipFamilies'].every(isSame)
}

/** Drops the second of the addresses, and of the families, unless the request changes that list. */
function dropSecond(spec: JsonObjectDraft, before: JsonObject): void {
  for (const name of ['clusterIPs', 'ipFamilies']) {
    const now = textsMember(spec, name)
    if (now.length > 1 && equalJson(now, textsMember(before, name))) spec[name] = now.slice(0, 1)
  }
}

/** Returns the errors of an update that omits a second address or family without `SingleStack`. */
function* reductions(spec: JsonObject, before: JsonObject | null, isSingle: boolean): Iterable<Finding> {
  if (before === null || isSingle) return
  for (const [name, what] of [
    ['clusterIPs', 'cluster IP'],
    ['ipFamilies', 'IP family'],
  ] as const) {
    const now = textsMember(spec, name).length
    if (now === 0 || now >= textsMember(before, name).length) continue
    const words = `must be 'SingleStack' to release the secondary ${what}`
    yield invalid(POLICY, memberOf(spec, 'ipFamilyPolicy'), words)
  }
}

function* tooMany(spec: JsonObject, isSingle: boolean): Iterable<Finding> {
  if (!isSingle) return
  for (const [name, what] of [
    ['clusterIPs', 'cluster IPs'],
    ['ipFamilies', 'IP families'],
  ] as const) {
    if (textsMember(spec, name).length !== 2) continue
    const words = `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`
    yield invalid(POLICY, memberOf(spec, 'ipFamilyPolicy'), words)
  }
}

/** Returns the families that the Service names, and those of its other addresses. */
function familiesOfAddresses(spec: JsonObject): readonly string[] {
  const named = textsMember(spec, 'ipFamilies')
  if (isHeadless(spec)) return named
  return [...named, ...textsMember(spec, 'clusterIPs').slice(named.length).map(familyOf)]
}

type Configured = {
  readonly families: readonly string[]
  readonly configured: readonly string[]
  /** Families that the stored Service has: it may keep them. */
  readonly old: readonly string[]
  readonly policy: string
}

function* unconfigured(
  spec: JsonObject,
  { families, configured, old, policy }: Configured,
): Iterable<Finding> {
  const isNew = old.length < 2
  if (policy === 'RequireDualStack' && configured.length < 2 && isNew)
    yield invalid(POLICY, policy, 'this cluster is not configured for dual-stack services')
  const named = textsMember(spec, 'ipFamilies').length
  const ips = textsMember(spec, 'clusterIPs')
  for (const [index, family] of families.entries()) {
    if (configured.includes(family) || old.includes(family)) continue
    if (index < named) yield invalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')
    else yield invalid(`spec.clusterIPs[${index}]`, ips, `${family} is not configured on this cluster`)
  }
}

/** @throws ApiError */
function refuse({ name }: Assignment, findings: Iterable<Finding>): void {
  const found = [...findings]
  if (found.length > 0) throw invalidObject({ group: '', kind: 'Service' }, name, found)
}
