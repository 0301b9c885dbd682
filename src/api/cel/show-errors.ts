import type { Fault } from './check/checked.ts'
import { celLimits } from './limits.ts'

export type CelError = {
  /** From 1. */
  readonly line: number
  /** From 1, in characters. */
  readonly column: number
  /** `undeclared reference to 'x' (in container '')` */
  readonly message: string
}

/** Returns the lines and columns of faults, in their order in the source, within the limits. */
export function celErrors(source: string, faults: readonly Fault[]): readonly CelError[] {
  return faults
    .toSorted((a, b) => a.at - b.at)
    .slice(0, celLimits.errorsMax)
    .map(({ at, message }) => {
      const before = source.slice(0, at)
      const lineStart = before.lastIndexOf('\n') + 1
      return {
        line: before.split('\n').length,
        column: [...before.slice(lineStart)].length + 1,
        message: message.slice(0, celLimits.errorCharactersMax),
      }
    })
}

/** Returns errors as upstream shows them: position, message, source line and a caret. */
export function showCelErrors(source: string, errors: readonly CelError[]): string {
  const lines = source.split('\n')
  return errors
    .map(({ line, column, message }) => {
      const characters = [...(lines[line - 1] ?? '').replaceAll('\t', ' ')]
      const shown = characters.slice(0, celLimits.snippetCharactersMax)
      const dots = shown.slice(0, column - 1).map((character) => (isWide(character) ? '．' : '.'))
      const caret = isWide(shown[column - 1] ?? '') ? '＾' : '^'
      const head = `ERROR: <input>:${line}:${column}: ${message}`
      if (column > shown.length + 1) return `${head}\n | ${shown.join('')}`
      return `${head}\n | ${shown.join('')}\n | ${dots.join('')}${caret}`
    })
    .join('\n')
}

/** Characters beyond ASCII get a mark of their width. */
function isWide(character: string): boolean {
  return (character.codePointAt(0) ?? 0) > 0x7f
}
