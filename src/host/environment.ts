/** Returns the environment variables of this process, to pass them on to another program. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}
