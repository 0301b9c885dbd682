/** The widest line of a comment, in columns. */
const columnsMax = 100

/**
 * Returns whether a line belongs to a comment and is too wide. Lines with addresses, drawings or
 * tables are exempt.
 */
export function isTooLong(line: string): boolean {
  if (line.length <= columnsMax || !/^\s*(\/\/|\/\*|\*)/.test(line)) return false
  return !/https?:|[─│┌┐└┘├┤►▼▲]|\S {3,}\S/.test(line)
}
