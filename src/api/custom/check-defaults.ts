import type { ApiErrorCause } from '../api-error.ts'
import { invalid } from '../field-error.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt, mapKey, member, spellPath } from '../schema/path.ts'
import { isHeadMember, unknownIn } from './conform-custom.ts'
import { Findings } from './findings.ts'
import type { Work } from './findings.ts'
import type { Structural } from './structural.ts'
import { validateValue } from './validate-custom.ts'
import { checkEmbedded } from './value-shapes.ts'

/** An object around a value that stands in its metadata, kind or apiVersion. */
type Surround = (value: Json) => JsonObject

/**
 * That every default is valid where it stands, has no members that would be pruned, and makes no metadata that is none.
 * Those inside of `additionalProperties` were never looked at by upstream either.
 *
 * @param root follows all other rules
 * @param work what it may cost
 * @source apiextensions `pkg/apiserver/schema/defaulting/validation.go`
 */
export function checkDefaults(root: Structural, at: Path, work: Work): readonly ApiErrorCause[] {
  const findings = new Findings()
  visit(root, at, null, { findings, work })
  return findings.causes
}

type Check = { readonly findings: Findings; readonly work: Work }

function visit(node: Structural, at: Path, surround: Surround | null, check: Check): void {
  if (!node.holdsDefaults && node.default === null) return
  // An object inside begins anew.
  const around = node.embedded ? null : surround
  if (node.default !== null) {
    for (const cause of causesOf(node, fieldPathOf(at), around, check.work)) check.findings.add(cause)
  }
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

function causesOf(
  node: Structural,
  at: Path,
  surround: Surround | null,
  work: Work,
): readonly ApiErrorCause[] {
  const value = node.default
  if (surround !== null) {
    const findings = new Findings()
    checkEmbedded(surround(value), null, findings)
    if (findings.causes.length > 0) {
      const words = findings.causes.map(({ field, message }) => `${field}: ${message}`).join(', ')
      return [invalid(spellPath(at), value, `must result in valid metadata: ${words}`)]
    }
  } else if (unknownIn(node, value, at).length > 0) {
    return [invalid(fieldAt(at), value, 'must not have unknown fields')]
  }
  return validateValue(node, value, at, work)
}
