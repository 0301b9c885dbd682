import type { Findings } from '../../api/errors/findings.ts'
import { newCheckBudget } from '../../api/custom/check-budget.ts'
import type { CheckBudget } from '../../api/custom/check-budget.ts'
import { customLimits } from '../../api/custom/limits.ts'
import { checkStructural } from '../../api/custom/structural-schema.ts'
import { invalid, notSupported, required, tooMany } from '../../api/errors/field-error.ts'
import { equalJson, isJsonObject, memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { checkDns1035Label, checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import type { Names } from '../../api/metadata/names.ts'
import { fieldAt, listIndex, member } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { checkApproval } from './definition-approval.ts'
import { isTrue } from './definition-conditions.ts'
import { checkConversion } from './definition-conversion.ts'
import { checkNames, requireNames } from './definition-name-rules.ts'
import { checkSelectableFields } from './selectable-fields.ts'
import { checkVersion } from './definition-version-rules.ts'

/**
 * @source apiextensions-apiserver `pkg/apis/apiextensions/validation`, release 1.24, for rules and
 * messages
 */

const SPEC = member(null, 'spec')
const VERSIONS = member(SPEC, 'versions')

/** Validates a new definition. */
export function checkNewDefinition(definition: AnyObject, names: Names, found: Findings): void {
  checkName(definition, found)
  checkSpec(definition, null, names, found)
  checkStatus(definition, found)
  checkApproval(definition, null, names, found)
}

/** Validates a change of a definition. */
export function checkChangedDefinition(
  definition: AnyObject,
  current: AnyObject,
  names: Names,
  found: Findings,
): void {
  checkSpec(definition, current, names, found)
  checkFixed(definition, current, found)
  checkStatus(definition, found)
  checkApproval(definition, current, names, found)
}

/** Validates the status, which the server and storage migrators write. */
export function checkStatus(definition: AnyObject, found: Findings): void {
  const status = member(null, 'status')
  checkNames(
    objectMember(objectMember(definition, 'status'), 'acceptedNames'),
    member(status, 'acceptedNames'),
    found,
  )
  checkStoredVersions(definition, member(status, 'storedVersions'), found)
}

function checkName({ metadata, ...definition }: AnyObject, found: Findings): void {
  const { name = '' } = metadata
  const spec = objectMember(definition, 'spec')
  const wanted = `${textMember(objectMember(spec, 'names'), 'plural')}.${textMember(spec, 'group')}`
  if (name !== wanted) found.add(invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group'))
}

function checkSpec(definition: AnyObject, current: AnyObject | null, names: Names, found: Findings): void {
  const spec = objectMember(definition, 'spec')
  const before = current === null ? null : objectMember(current, 'spec')
  const requested = objectMember(spec, 'names')
  checkGroup(textMember(spec, 'group'), found)
  checkScope(textMember(spec, 'scope'), found)
  requireSchemas(spec, found)
  checkVersions(spec, before, names, found)
  requireNames(requested, member(SPEC, 'names'), found)
  checkNames(requested, member(SPEC, 'names'), found)
  checkConversion(objectMember(spec, 'conversion'), member(SPEC, 'conversion'), found)
  checkPreserving(spec, before, names, found)
}

function checkGroup(group: string, found: Findings): void {
  const field = fieldAt(SPEC, 'group')
  if (group === '') {
    found.add(required(field))
    return
  }
  const wrong = checkDns1123Subdomain(group)
  if (wrong.length > 0) {
    found.add(invalid(field, group, wrong.join(',')))
    return
  }
  if (!group.includes('.')) found.add(invalid(field, group, 'should be a domain with at least one dot'))
}

const SCOPES = ['Cluster', 'Namespaced']

function checkScope(scope: string, found: Findings): void {
  if (scope === '') {
    found.add(required(fieldAt(SPEC, 'scope')))
    return
  }
  if (!SCOPES.includes(scope)) found.add(notSupported(fieldAt(SPEC, 'scope'), scope, SCOPES))
}

function requireSchemas(spec: JsonObject, found: Findings): void {
  for (const [at, version] of objectsMember(spec, 'versions').entries()) {
    const isThere = isJsonObject(memberOf(objectMember(version, 'schema'), 'openAPIV3Schema'))
    if (!isThere)
      found.add(required(fieldAt(VERSIONS, at, 'schema', 'openAPIV3Schema'), 'schemas are required'))
  }
}

function checkVersions(spec: JsonObject, before: JsonObject | null, names: Names, found: Findings): void {
  const versions = objectsMember(spec, 'versions')
  const { versionsMax } = customLimits
  if (versions.length > versionsMax) {
    found.add(tooMany(fieldAt(VERSIONS), versions.length, versionsMax))
    return
  }
  const budget = newCheckBudget()
  for (const [at, version] of versions.entries()) {
    const place = listIndex(VERSIONS, at)
    const name = textMember(version, 'name')
    const wrong = checkDns1035Label(name)
    const same = before === null ? undefined : versionIn(before, name)
    if (wrong.length !== 0) found.add(invalid(fieldAt(place, 'name'), name, wrong.join(',')))
    checkVersion(version, place, found)
    if (!equalJson(memberOf(version, 'selectableFields'), memberOf(same ?? {}, 'selectableFields')))
      checkSelectableFields(version, place, found)
    if (!isSameShape(version, same)) checkSchemaOf({ version, same }, place, names, budget, found)
  }
  const every = versions.map((version) => textMember(version, 'name'))
  const shown = every.join(',')
  if (new Set(every).size < every.length) {
    found.add(invalid(fieldAt(VERSIONS), shown, 'must contain unique version names'))
  }
  if (versions.filter((version) => memberOf(version, 'storage') === true).length !== 1) {
    const words = 'must have exactly one version marked as storage version'
    found.add(invalid(fieldAt(VERSIONS), shown, words))
  }
}

function versionIn(spec: JsonObject, name: string): JsonObject | undefined {
  return objectsMember(spec, 'versions').find((version) => textMember(version, 'name') === name)
}

/** An unchanged schema is not validated again: a later release may have stricter rules. */
function isSameShape(version: JsonObject, before: JsonObject | undefined): boolean {
  if (before === undefined) return false
  return equalJson(schemaOf(version), schemaOf(before)) && hasStatus(version) === hasStatus(before)
}

function schemaOf(version: JsonObject): Json | undefined {
  return memberOf(objectMember(version, 'schema'), 'openAPIV3Schema')
}

type ChangedVersion = {
  readonly version: JsonObject
  /** The version of that name that an update replaces. */
  readonly same: JsonObject | undefined
}

function checkSchemaOf(
  { version, same }: ChangedVersion,
  place: Path,
  names: Names,
  budget: CheckBudget,
  found: Findings,
): void {
  const schema = schemaOf(version)
  if (!isJsonObject(schema)) return
  const before = same === undefined ? undefined : schemaOf(same)
  const at = member(member(place, 'schema'), 'openAPIV3Schema')
  const options = { statusSubresource: hasStatus(version), budget }
  const all = isJsonObject(before) ? { ...options, before } : options
  checkStructural(schema, at, names, all, found)
}

function hasStatus(version: JsonObject): boolean {
  return memberOf(objectMember(version, 'subresources'), 'status') !== undefined
}

/** A definition that preserves unknown fields already may continue to. */
function checkPreserving(spec: JsonObject, before: JsonObject | null, names: Names, found: Findings): void {
  const isSo = (of: JsonObject) => memberOf(of, 'preserveUnknownFields') === true
  if (!isSo(spec) || (before !== null && isSo(before))) return
  const marker = `${names.schemaMarkerPrefix}preserve-unknown-fields`
  const words = `cannot set to true, set ${marker} to true in spec.versions[*].schema instead`
  found.add(invalid(fieldAt(SPEC, 'preserveUnknownFields'), true, words))
}

/** Group and plural are immutable; once the definition is established, scope and kind are too. */
function checkFixed(definition: AnyObject, current: AnyObject, found: Findings): void {
  const spec = objectMember(definition, 'spec')
  const before = objectMember(current, 'spec')
  const always = [['group'], ['names', 'plural']] as const
  const inUse = isTrue(current, 'Established') ? ([['scope'], ['names', 'kind']] as const) : []
  for (const steps of [...inUse, ...always]) {
    const value = textAt(spec, steps)
    if (value !== textAt(before, steps))
      found.add(invalid(fieldAt(SPEC, ...steps), value, 'field is immutable'))
  }
}

function textAt(of: JsonObject, steps: readonly string[]): string {
  const [first = '', ...rest] = steps
  return rest.length === 0 ? textMember(of, first) : textAt(objectMember(of, first), rest)
}

function checkStoredVersions(definition: AnyObject, at: Path, found: Findings): void {
  const stored = memberOf(objectMember(definition, 'status'), 'storedVersions')
  const list = Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : []
  const field = fieldAt(at)
  if (list.length === 0) {
    found.add(invalid(field, list, 'must have at least one stored version'))
    return
  }
  const versions = objectsMember(objectMember(definition, 'spec'), 'versions')
  const known = new Set(versions.map((version) => textMember(version, 'name')))
  const given = new Set(list)
  const storage = versions
    .filter((version) => memberOf(version, 'storage') === true)
    .map((version) => textMember(version, 'name'))
  for (const name of storage.filter((name) => !given.has(name)))
    found.add(invalid(field, list, `must have the storage version ${name}`))
  for (const [index, name] of list.entries()) {
    if (!known.has(name)) found.add(invalid(fieldAt(at, index), name, 'must appear in spec.versions'))
  }
}
