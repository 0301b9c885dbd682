/** A JSON pointer. @source RFC 6901 */
export type Pointer = { readonly text: string; readonly steps: readonly string[] }

const LENGTH_MAX = 4096

/** @returns null if the text is not a pointer, or has more than 4096 characters */
export function parsePointer(text: string): Pointer | null {
  if (text === '') return { text, steps: [] }
  if (!text.startsWith('/') || text.length > LENGTH_MAX || /~(?![01])/.test(text)) return null
  const steps = text.slice(1).split('/')
  return { text, steps: steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')) }
}
