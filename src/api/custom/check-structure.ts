import { fieldForbidden, invalid, required } from '../errors/field-error.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt, mapKey, member, spellPath } from '../schema/path.ts'
import { checkJunctors } from './check-junctors.ts'
import { checkRuleTexts } from './rules/check-rule-texts.ts'
import type { Findings } from '../errors/findings.ts'
import { hasOnlyType } from './has-only-type.ts'
import type { MarkerNames, Structural } from './structural.ts'

type Check = { readonly markers: MarkerNames; readonly findings: Findings }
type Level = 'root' | 'item' | 'field'

/**
 * Checks that a schema is structural: every value has a type, which is defined outside of junctors;
 * junctors only restrict values; and of metadata, only name and generateName are restricted.
 *
 * @source apiextensions `pkg/apiserver/schema/{validation,complete}.go`
 */
export function checkStructure(root: Structural, at: Path, check: Check): void {
  checkNode(root, at, 'root', check)
}

function checkNode(node: Structural, at: Path, level: Level, check: Check): void {
  const { findings } = check
  if (findings.isFull) return
  if (node.type === 'array' && node.items === null) {
    findings.add(required(fieldAt(at, 'items'), 'must be specified'))
  }
  if (node.items !== null) checkNode(node.items, member(at, 'items'), 'item', check)
  for (const [name, property] of node.properties) {
    checkNode(property, mapKey(member(at, 'properties'), name), 'field', check)
  }
  const { additional } = node
  if (additional !== null && level === 'root') {
    findings.add(fieldForbidden(fieldAt(at, 'additionalProperties'), 'must not be used at the root'))
  }
  if (typeof additional === 'object' && additional !== null) {
    checkNode(additional, member(at, 'additionalProperties'), 'field', check)
  }
  checkType(node, at, level, check)
  checkObject(node, at, level, check)
  checkRuleTexts(node, member(at, check.markers.validations), findings)
  checkJunctors(node, at, { node, at }, check)
}

function checkType(node: Structural, at: Path, level: Level, { markers, findings }: Check): void {
  const { type, intOrString, preserveUnknown, embedded } = node
  if (intOrString && preserveUnknown) {
    const words = `must be false if ${markers.intOrString} is true`
    findings.add(invalid(fieldAt(at, markers.preserveUnknown), true, words))
  }
  if (intOrString && embedded) {
    const words = `must be false if ${markers.intOrString} is true`
    findings.add(invalid(fieldAt(at, markers.embedded), true, words))
  }
  if (embedded && type !== 'object') {
    const words = `must be object if ${markers.embedded} is true`
    findings.add(
      type === '' ? required(fieldAt(at, 'type'), words) : invalid(fieldAt(at, 'type'), type, words),
    )
  } else if (type === '' && !intOrString && !preserveUnknown) {
    findings.add(required(fieldAt(at, 'type'), `must not be empty ${EMPTY_WHERE[level]}`))
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    findings.add(invalid(fieldAt(at, 'type'), type, 'must be object at the root'))
  }
}

const EMPTY_WHERE: { readonly [level in Level]: string } = {
  root: 'at the root',
  item: 'for specified array items',
  field: 'for specified object fields',
}

/** Checks the schemas of kind, apiVersion and metadata of an object, whose types are fixed. */
function checkObject(node: Structural, at: Path, level: Level, { markers, findings }: Check): void {
  const properties = member(at, 'properties')
  if (node.embedded && node.additional !== null) {
    const words = `must not be used if ${markers.embedded} is set`
    findings.add(fieldForbidden(fieldAt(at, 'additionalProperties'), words))
  }
  if (node.embedded && !node.preserveUnknown && node.properties.size === 0) {
    const words = `must not be empty if ${markers.embedded} is true without ${markers.preserveUnknown}`
    findings.add(required(spellPath(properties), words))
  }
  if (level !== 'root' && !node.embedded) return
  for (const name of ['kind', 'apiVersion']) {
    const given = node.properties.get(name)
    if (given === undefined || given.type === 'string') continue
    findings.add(invalid(fieldAt(mapKey(properties, name), 'type'), given.type, 'must be string'))
  }
  const metadata = node.properties.get('metadata')
  if (metadata === undefined) return
  const place = mapKey(properties, 'metadata')
  if (metadata.type !== 'object') {
    findings.add(invalid(fieldAt(place, 'type'), metadata.type, 'must be object'))
  }
  if (level === 'root' && !isOnlyNames(metadata)) {
    const words =
      'must not specify anything other than name and generateName, but metadata is implicitly specified'
    findings.add(fieldForbidden(spellPath(place), words))
  }
}

function isOnlyNames(metadata: Structural): boolean {
  const known = [...metadata.properties.keys()].every((name) => name === 'name' || name === 'generateName')
  return known && hasOnlyType({ ...metadata, properties: new Map() }, metadata.type)
}
