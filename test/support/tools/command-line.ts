/** Invalid arguments; the message is one line. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood'
}

export const notUnderstoodCode = 2

/**
 * Runs a command of the test tools. `--help` prints the usage; what cannot be understood ends with
 * one line on standard error.
 *
 * @param main receives the arguments; it throws NotUnderstood, or an error of `parseArgs`
 * @returns the exit code: that of `main`, 0 after help, 2 when not understood
 */
export async function runCommand(
  usage: string,
  main: (args: readonly string[]) => Promise<number>,
  args: readonly string[] = process.argv.slice(2),
): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage.trim())
    return 0
  }
  try {
    return await main(args)
  } catch (cause) {
    const line = complaint(cause)
    if (line === null) throw cause
    console.error(`${line}; see --help`)
    return notUnderstoodCode
  }
}

/** @returns null: the error is not about the arguments */
function complaint(cause: unknown): string | null {
  if (cause instanceof NotUnderstood) return cause.message
  if (!(cause instanceof Error) || !('code' in cause)) return null
  if (typeof cause.code !== 'string' || !cause.code.startsWith('ERR_PARSE_ARGS')) return null
  // Only its first sentence is used: the rest explains positional arguments, which these tools
  // lack.
  return (cause.message.split(/\. |\n/)[0] ?? '').replace(/\.$/, '')
}

/** @param max the largest allowed value @throws NotUnderstood naming `what` */
export function wholeNumber(what: string, text: string, max = Number.MAX_SAFE_INTEGER): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number <= max) return number
  const range = max === Number.MAX_SAFE_INTEGER ? 'a whole number' : `a whole number up to ${max}`
  throw new NotUnderstood(`${what} is ${range}, not ${JSON.stringify(text)}`)
}
