import { fieldForbidden, required } from '../errors/field-error.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt, listIndex, mapKey, member, spellPath } from '../schema/path.ts'
import type { Findings } from '../errors/findings.ts'
import { hasOnlyType } from './has-only-type.ts'
import { checkRuleTexts } from './rules/check-rule-texts.ts'
import type { MarkerNames, Structural } from './structural.ts'

type Check = {
  readonly markers: MarkerNames
  readonly findings: Findings
  /** Only `allOf` may contain rules: in other junctors it is unknown which schema applies. */
  readonly forbidsRules?: boolean
}

/**
 * The schema for the same value outside of junctors, and its path. null: there is none, which was
 * reported before.
 */
type Shape = { readonly node: Structural | null; readonly at: Path }

/**
 * Checks that junctors (`allOf`, `anyOf`, `oneOf`, `not`) only restrict values: they define no
 * types, and name only members that the schema outside of them defines.
 *
 * @param node the schema that contains the junctors, itself outside of any
 */
export function checkJunctors(node: Structural, at: Path, shape: Shape, check: Check): void {
  const first = node.rules.allOf[0]
  checkEach(node, at, shape, check, {
    anyOf: isIntOrString(node.rules.anyOf),
    firstAllOf: first !== undefined && isIntOrString(first.rules.anyOf),
  })
}

/**
 * The two forms that define the types of an int-or-string: `anyOf` itself, and `anyOf` inside of
 * the first `allOf`.
 */
type Skip = { readonly anyOf: boolean; readonly firstAllOf: boolean }
const SKIP_NONE: Skip = { anyOf: false, firstAllOf: false }

function isIntOrString(anyOf: readonly Structural[]): boolean {
  const [first, second, ...more] = anyOf
  if (first === undefined || second === undefined || more.length > 0) return false
  return hasOnlyType(first, 'integer') && hasOnlyType(second, 'string')
}

function checkEach(node: Structural, at: Path, shape: Shape, check: Check, skip: Skip): void {
  const { allOf, anyOf, oneOf, not } = node.rules
  const others = { ...check, forbidsRules: true }
  const all = (name: string, nodes: readonly Structural[], skips: (index: number) => Skip): void => {
    const list = member(at, name)
    const inner = name === 'allOf' ? check : others
    nodes.forEach((inside, index) => checkInside(inside, listIndex(list, index), shape, inner, skips(index)))
  }
  if (!skip.anyOf) all('anyOf', anyOf, () => SKIP_NONE)
  all('allOf', allOf, (index) => ({ anyOf: skip.firstAllOf && index === 0, firstAllOf: false }))
  all('oneOf', oneOf, () => SKIP_NONE)
  if (not !== null) checkInside(not, member(at, 'not'), shape, others, SKIP_NONE)
}

function checkInside(node: Structural, at: Path, shape: Shape, check: Check, skip: Skip): void {
  const { findings, markers } = check
  if (findings.isFull) return
  checkEach(node, at, shape, check, skip)
  const rulesAt = member(at, markers.validations)
  if (check.forbidsRules !== true) checkRuleTexts(node, rulesAt, findings)
  else if (node.validations.length > 0) {
    findings.add(fieldForbidden(rulesAt, 'must be empty to be structural'))
  }
  for (const [name, isSet, words] of shapeWords(node, markers)) {
    if (isSet) findings.add(fieldForbidden(fieldAt(at, name), `must be ${words} to be structural`))
  }
  const go = (inside: Structural, place: Path, outside: Shape): void => {
    if (shape.node !== null && outside.node === null) {
      const words = `because it is defined in ${spellPath(place)}`
      findings.add(required(spellPath(outside.at), words))
    }
    checkInside(inside, place, outside, check, SKIP_NONE)
  }
  if (node.items !== null) {
    const outside = { node: shape.node?.items ?? null, at: member(shape.at, 'items') }
    go(node.items, member(at, 'items'), outside)
  }
  for (const [name, property] of node.properties) {
    const place = mapKey(member(at, 'properties'), name)
    if (name === 'metadata') {
      findings.add(fieldForbidden(spellPath(place), 'must not be specified in a nested context'))
    }
    const outside = shape.node?.properties.get(name) ?? null
    go(property, place, { node: outside, at: mapKey(member(shape.at, 'properties'), name) })
  }
}

/** Lists the keywords that define the shape, whether each is set, and the error for it. */
function shapeWords(
  node: Structural,
  markers: MarkerNames,
): readonly (readonly [name: string, isSet: boolean, words: string])[] {
  return [
    ['type', node.type !== '', 'empty'],
    ['additionalProperties', node.additional !== null, 'undefined'],
    ['default', node.default !== null, 'undefined'],
    ['title', node.title !== '', 'empty'],
    ['description', node.description !== '', 'empty'],
    ['nullable', node.nullable, 'false'],
    [markers.preserveUnknown, node.preserveUnknown, 'false'],
    [markers.embedded, node.embedded, 'false'],
    [markers.intOrString, node.intOrString, 'false'],
    [markers.listMapKeys, node.listMapKeys.length > 0, 'empty'],
    [markers.listType, node.listType !== null, 'undefined'],
    [markers.mapType, node.mapType !== null, 'undefined'],
  ]
}
