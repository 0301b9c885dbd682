import { fieldForbidden, invalid, notSupported } from '../errors/field-error.ts'
import { isJsonList, isJsonObject, memberOf, objectMember, textMember } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt } from '../schema/path.ts'
import { checkMarkers } from './check-markers.ts'
import { isHeadMember } from './conform-custom.ts'
import type { Findings } from '../errors/findings.ts'
import { childrenOf } from './schema-children.ts'
import type { SchemaChild } from './schema-children.ts'
import type { MarkerNames } from './structural.ts'

/** The position of a schema. */
export type KeywordContext = {
  readonly isRoot: boolean
  /** Inside of metadata, kind or apiVersion of an object. */
  readonly insideMeta: boolean
  /** Why defaults are not allowed here; null: they are. */
  readonly noDefaults: string | null
}

/**
 * Checks which keywords a schema uses, recursively.
 *
 * @source apiextensions `pkg/apis/apiextensions/validation`:
 * ValidateCustomResourceDefinitionOpenAPISchema
 */
export function checkKeywords(
  json: JsonObject,
  at: Path,
  context: KeywordContext,
  check: { readonly markers: MarkerNames; readonly findings: Findings },
): void {
  const { findings, markers } = check
  if (findings.isFull) return
  checkRefused(json, at, findings)
  const type = textMember(json, 'type')
  if (type === 'null') {
    const words = 'type cannot be set to null, use nullable as an alternative'
    findings.add(fieldForbidden(fieldAt(at, 'type'), words))
  } else if (type !== '' && !TYPES.includes(type)) {
    findings.add(notSupported(fieldAt(at, 'type'), type, TYPES))
  }
  if (context.noDefaults !== null && isSet(json, 'default')) {
    findings.add(fieldForbidden(fieldAt(at, 'default'), `must not be set ${context.noDefaults}`))
  }
  if (context.insideMeta && memberOf(json, markers.embedded) === true) {
    findings.add(fieldForbidden(fieldAt(at, markers.embedded), 'must not be used inside of resource meta'))
  }
  checkAdditional(json, at, findings)
  checkMarkers(json, at, markers, findings)
  for (const child of childrenOf(json, at)) {
    checkKeywords(child.json, child.at, contextOf(child, json, context, markers), check)
  }
}

const TYPES: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string']

const REFUSED = [
  '$ref',
  '$schema',
  'additionalItems',
  'definitions',
  'dependencies',
  'id',
  'patternProperties',
]

function checkRefused(json: JsonObject, at: Path, findings: Findings): void {
  for (const name of REFUSED) {
    if (isSet(json, name)) findings.add(fieldForbidden(fieldAt(at, name), `${name} is not supported`))
  }
  if (isJsonList(memberOf(json, 'items'))) {
    findings.add(fieldForbidden(fieldAt(at, 'items'), 'items must be a schema object and not an array'))
  }
  if (memberOf(json, 'uniqueItems') === true) {
    const words = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    findings.add(fieldForbidden(fieldAt(at, 'uniqueItems'), words))
  }
  const factor = memberOf(json, 'multipleOf')
  if ((typeof factor === 'number' || typeof factor === 'bigint') && factor <= 0) {
    findings.add(invalid(fieldAt(at, 'multipleOf'), factor, 'must be greater than 0'))
  }
}

/** Empty strings and objects are treated as absent. */
function isSet(json: JsonObject, name: string): boolean {
  const value: Json | undefined = memberOf(json, name)
  if (value === undefined || value === null) return false
  if (name === 'default' || name === 'additionalItems') return true
  return value !== '' && !(isJsonObject(value) && Object.keys(value).length === 0)
}

function checkAdditional(json: JsonObject, at: Path, findings: Findings): void {
  const additional = memberOf(json, 'additionalProperties')
  if (additional === undefined || additional === null || additional === true) return
  if (Object.keys(objectMember(json, 'properties')).length === 0) return
  const words = 'additionalProperties and properties are mutual exclusive'
  findings.add(fieldForbidden(fieldAt(at, 'additionalProperties'), words))
}

function contextOf(
  child: SchemaChild,
  parent: JsonObject,
  context: KeywordContext,
  markers: MarkerNames,
): KeywordContext {
  const { insideMeta, noDefaults, isRoot } = context
  const below = { isRoot: false, insideMeta, noDefaults }
  if (child.relation === 'additionalProperties' && insideMeta) {
    return { ...below, noDefaults: 'inside additionalProperties applying to object metadata' }
  }
  const isObject = isRoot || memberOf(parent, markers.embedded) === true
  if (child.relation !== 'property' || !isObject || !isHeadMember(child.name)) return below
  return { ...below, insideMeta: true, noDefaults: isRoot ? `in top-level ${child.name}` : noDefaults }
}
