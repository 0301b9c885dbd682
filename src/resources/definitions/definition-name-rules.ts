import type { ApiErrorCause } from '../../api/api-error.ts'
import { invalid, required } from '../../api/field-error.ts'
import { textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1035Label } from '../../api/name-rules.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'

/** @param names those that are asked for */
export function requireNames(names: JsonObject, at: Path): readonly ApiErrorCause[] {
  return ['plural', 'singular', 'kind', 'listKind']
    .filter((name) => textMember(names, name) === '')
    .map((name) => required(fieldAt(at, name)))
}

/** @param names asked for, or accepted: of those some may be none yet */
export function checkNames(names: JsonObject, at: Path): readonly ApiErrorCause[] {
  const kind = textMember(names, 'kind')
  const listKind = textMember(names, 'listKind')
  return [
    ...['plural', 'singular'].flatMap((name) => label(textMember(names, name), fieldAt(at, name))),
    ...mixedCase(kind, fieldAt(at, 'kind')),
    ...mixedCase(listKind, fieldAt(at, 'listKind')),
    ...each(names, 'shortNames', at),
    ...(kind === '' || kind !== listKind
      ? []
      : [invalid(fieldAt(at, 'listKind'), listKind, 'kind and listKind may not be the same')]),
    ...each(names, 'categories', at),
  ]
}

function each(names: JsonObject, name: string, at: Path): readonly ApiErrorCause[] {
  return textsMember(names, name).flatMap((text, index) => {
    const wrong = checkDns1035Label(text)
    return wrong.length === 0 ? [] : [invalid(fieldAt(at, name, index), text, wrong.join(','))]
  })
}

function label(text: string, field: string): readonly ApiErrorCause[] {
  const wrong = text === '' ? [] : checkDns1035Label(text)
  return wrong.length === 0 ? [] : [invalid(field, text, wrong.join(','))]
}

function mixedCase(text: string, field: string): readonly ApiErrorCause[] {
  const wrong = text === '' ? [] : checkDns1035Label(text.toLowerCase())
  const words = `may have mixed case, but should otherwise match: ${wrong.join(',')}`
  return wrong.length === 0 ? [] : [invalid(field, text, words)]
}
