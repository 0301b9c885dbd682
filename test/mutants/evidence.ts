/** One thing that failed, as one line. */
export type Finding = {
  /** The test, or the seed. */
  readonly where: string
  readonly message: string
  /** The name of the error: it separates findings of a check from programs that do not run. */
  readonly error: string
}

/**
 * Errors of a program that cannot run, such as a misspelt name: they do not show that a test
 * noticed the mutant.
 */
const ofTheProgram = new Set(['SyntaxError', 'ReferenceError', 'TypeError'])

export function isEvidence(finding: Finding): boolean {
  return !ofTheProgram.has(finding.error)
}

/** Returns the finding of a thrown error: that of its innermost cause. */
export function findingOf(where: string, thrown: unknown): Finding {
  let cause = thrown
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause
  if (!(cause instanceof Error)) return { where, message: oneLine(String(cause)), error: 'Error' }
  // The message of an assertion without text is a diff.
  return { where, message: oneLine(cause.message), error: cause.name }
}

export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= lineMax ? line : `${line.slice(0, lineMax - 1)}…`
}

const lineMax = 160
