import { formatFindings, invalid } from '../errors/field-error.ts'
import { Findings } from '../errors/findings.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { mapKey, member } from '../schema/path.ts'
import { isHeadMember, unknownIn } from './conform-custom.ts'
import type { StepBudget } from '../step-budget.ts'
import type { Structural } from './structural.ts'
import { validateValue } from './validate-custom.ts'
import { checkEmbedded } from './value-shapes.ts'

/** Wraps a value of metadata, kind or apiVersion in an object. */
type Surround = (value: Json) => JsonObject

/**
 * Checks that every default is valid for its schema, has no members that would be pruned, and does
 * not produce invalid metadata. Like upstream, it does not check defaults inside of
 * `additionalProperties`.
 *
 * @param root has passed the checks of its structure and its keywords
 * @param work the cost budget
 * @source apiextensions `pkg/apiserver/schema/defaulting/validation.go`
 */
export function checkDefaults(root: Structural, at: Path, work: StepBudget, findings: Findings): void {
  visit(root, at, null, { findings, work })
}

type Check = { readonly findings: Findings; readonly work: StepBudget }

function visit(node: Structural, at: Path, surround: Surround | null, check: Check): void {
  if (!node.holdsDefaults && node.default === null) return
  // An embedded object is checked on its own.
  const around = node.embedded ? null : surround
  if (node.default !== null) checkDefault(node, fieldPathOf(at), around, check)
  if (check.findings.isFull) return
  if (node.items !== null) {
    visit(node.items, member(at, 'items'), around && ((value) => around([value])), check)
  }
  for (const [name, property] of node.defaulted) {
    const place = mapKey(member(at, 'properties'), name)
    visit(property, place, surroundOf(node, name, around), check)
  }
}

function surroundOf(node: Structural, name: string, around: Surround | null): Surround | null {
  if (around !== null) return (value) => around({ [name]: value })
  if (!node.embedded || !isHeadMember(name)) return null
  return (value) => ({ apiVersion: 'validation/v1', kind: 'Validation', [name]: value })
}

function fieldPathOf(at: Path): Path {
  return member(at, 'default')
}

function checkDefault(node: Structural, at: Path, surround: Surround | null, check: Check): void {
  const { findings } = check
  const value = node.default
  if (surround !== null) {
    const inside = new Findings()
    checkEmbedded(surround(value), null, inside)
    if (inside.count > 0) {
      const words = (): string =>
        formatFindings(inside.list)
          .map(({ field, message }) => `${field}: ${message}`)
          .join(', ')
      findings.add(invalid(at, value, () => `must result in valid metadata: ${words()}`))
      return
    }
  } else if (unknownIn(node, value, at).length > 0) {
    findings.add(invalid(at, value, 'must not have unknown fields'))
    return
  }
  validateValue(node, value, at, check)
}
