/** The widest line of a comment, in columns. */
const columnsMax = 100

/** Whether a line is one of a comment and too wide. Addresses, drawings and tables may be. */
export function isTooLong(line: string): boolean {
  if (line.length <= columnsMax || !/^\s*(\/\/|\/\*|\*)/.test(line)) return false
  return !/https?:|[─│┌┐└┘├┤►▼▲]|\S {3,}\S/.test(line)
}
