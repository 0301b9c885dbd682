import { wellFormed } from '../utf8.ts'
import { endOfString } from './json-exact.ts'
import { JSON_DEPTH_MAX } from './json.ts'

/** More are not told. */
export const DUPLICATES_MAX = 64

/**
 * Paths of members that a JSON text names twice, which `JSON.parse` passes over in silence. For
 * `fieldValidation` other than `Ignore`.
 *
 * @param text that `parseJson` took: well-formed and not too deep
 * @returns such as `data.a` or `spec.parts[0].name`, in order; at most 64
 */
export function duplicateFields(text: string): readonly string[] {
  const found: string[] = []
  const open: Frame[] = []
  let at = 0
  while (at < text.length && found.length < DUPLICATES_MAX) {
    const char = text.charAt(at)
    const top = open.at(-1)
    if (char === '"') {
      const end = endOfString(text, at)
      if (top?.kind === 'object' && top.expectsName) {
        const name = JSON.parse(text.slice(at, end)) as string
        enterMember(top, wellFormed(name), open, found)
      }
      at = end
      continue
    }
    at++
    if (char === '{') open.push({ kind: 'object', names: new Set(), name: '', expectsName: true })
    else if (char === '[') open.push({ kind: 'list', index: 0 })
    else if (char === '}' || char === ']') open.pop()
    else if (char === ',' && top?.kind === 'object') top.expectsName = true
    else if (char === ',' && top?.kind === 'list') top.index++
    if (open.length > JSON_DEPTH_MAX + 1) return found
  }
  return found
}

/** The words for one of them, as `unknownFieldWords` has them for the other finding. */
export function duplicateFieldWords(path: string): string {
  return `duplicate field "${path}"`
}

type Frame =
  | { readonly kind: 'object'; readonly names: Set<string>; name: string; expectsName: boolean }
  | { readonly kind: 'list'; index: number }

function enterMember(
  frame: Extract<Frame, { kind: 'object' }>,
  name: string,
  open: readonly Frame[],
  found: string[],
): void {
  frame.name = name
  frame.expectsName = false
  if (frame.names.has(name)) {
    const path = pathOf(open)
    if (!found.includes(path)) found.push(path)
  }
  frame.names.add(name)
}

function pathOf(open: readonly Frame[]): string {
  let path = ''
  for (const frame of open) {
    if (frame.kind === 'list') path += `[${frame.index}]`
    else path += path === '' ? frame.name : `.${frame.name}`
  }
  return path
}
