import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1035Label } from '../../api/metadata/name-rules.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'

/** @param names the requested ones */
export function requireNames(names: JsonObject, at: Path, found: Findings): void {
  for (const name of ['plural', 'singular', 'kind', 'listKind'].filter(
    (name) => textMember(names, name) === '',
  ))
    found.add(required(fieldAt(at, name)))
}

/** @param names requested or accepted names; accepted ones may be empty at first */
export function checkNames(names: JsonObject, at: Path, found: Findings): void {
  const kind = textMember(names, 'kind')
  const listKind = textMember(names, 'listKind')
  for (const name of ['plural', 'singular']) label(textMember(names, name), fieldAt(at, name), found)
  mixedCase(kind, fieldAt(at, 'kind'), found)
  mixedCase(listKind, fieldAt(at, 'listKind'), found)
  each(names, 'shortNames', at, found)
  if (!(kind === '' || kind !== listKind))
    found.add(invalid(fieldAt(at, 'listKind'), listKind, 'kind and listKind may not be the same'))
  each(names, 'categories', at, found)
}

function each(names: JsonObject, name: string, at: Path, found: Findings): void {
  for (const [index, text] of textsMember(names, name).entries()) {
    const wrong = checkDns1035Label(text)
    if (wrong.length !== 0) found.add(invalid(fieldAt(at, name, index), text, wrong.join(',')))
  }
}

function label(text: string, field: string, found: Findings): void {
  const wrong = text === '' ? [] : checkDns1035Label(text)
  if (wrong.length !== 0) found.add(invalid(field, text, wrong.join(',')))
}

function mixedCase(text: string, field: string, found: Findings): void {
  const wrong = text === '' ? [] : checkDns1035Label(text.toLowerCase())
  const words = `may have mixed case, but should otherwise match: ${wrong.join(',')}`
  if (wrong.length !== 0) found.add(invalid(field, text, words))
}
