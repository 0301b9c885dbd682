import { listIndex, member, spellPath } from '../schema/path.ts'
import type { Path } from '../schema/path.ts'
import { wellFormed } from '../utf8.ts'
import { endOfString } from './json-exact.ts'
import { JSON_DEPTH_MAX } from './json.ts'

/** The maximum number of duplicates that are reported. */
export const DUPLICATES_MAX = 64

/**
 * Returns the paths of duplicate members in a JSON text, which `JSON.parse` ignores silently. Used
 * for `fieldValidation` other than `Ignore`.
 *
 * @param text accepted by `JSON.parse`, and not too deep
 * @returns such as `data.a` or `spec.parts[0].name`, in order; at most 64
 */
export function duplicateFields(text: string): readonly string[] {
  const found = new Set<string>()
  const open: Frame[] = []
  let at = 0
  while (at < text.length && found.size < DUPLICATES_MAX) {
    const char = text.charCodeAt(at)
    const top = open.at(-1)
    if (char === QUOTE) {
      const end = endOfString(text, at)
      if (top?.kind === 'object' && top.expectsName) {
        enterMember(top, nameAt(text, at, end), found)
      }
      at = end
      continue
    }
    at++
    if (char === OPEN_BRACE)
      open.push({ kind: 'object', path: pathWithin(top), names: new Map(), name: '', expectsName: true })
    else if (char === OPEN_BRACKET) open.push({ kind: 'list', path: pathWithin(top), index: 0 })
    else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) open.pop()
    else if (char === COMMA && top?.kind === 'object') top.expectsName = true
    else if (char === COMMA && top?.kind === 'list') top.index++
    if (open.length > OPEN_MAX) break
  }
  return [...found]
}

/** More than any depth that is accepted, including that of `managedFields`. */
const OPEN_MAX = JSON_DEPTH_MAX + 10

const [QUOTE, OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET, COMMA] = Array.from('"{[}],', (sign) =>
  sign.charCodeAt(0),
)

/** Names without escapes are taken from the text; `JSON.parse` takes ten times as long. */
function nameAt(text: string, at: number, end: number): string {
  const name = text.slice(at + 1, end - 1)
  return name.includes('\\') ? wellFormed(JSON.parse(text.slice(at, end)) as string) : name
}

/** The message for a duplicate member; `unknownFieldWords` has that for an unknown one. */
export function duplicateFieldWords(path: string): string {
  return `duplicate field "${path}"`
}

type Frame =
  | {
      readonly kind: 'object'
      readonly path: Path | null
      /** Each name, and whether it is a duplicate. */
      readonly names: Map<string, boolean>
      name: string
      expectsName: boolean
    }
  | { readonly kind: 'list'; readonly path: Path | null; index: number }

/**
 * Enters the name of a member. The path of a duplicate is formatted once, however often it is
 * repeated.
 */
function enterMember(frame: Extract<Frame, { kind: 'object' }>, name: string, found: Set<string>): void {
  frame.name = name
  frame.expectsName = false
  const isReported = frame.names.get(name)
  if (isReported === false) found.add(spellPath(member(frame.path, name)))
  frame.names.set(name, isReported !== undefined)
}

/** Returns the path of a value that begins in a container. */
function pathWithin(frame: Frame | undefined): Path | null {
  if (frame === undefined) return null
  return frame.kind === 'list' ? listIndex(frame.path, frame.index) : member(frame.path, frame.name)
}
