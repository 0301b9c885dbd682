/** Words, options and data of one command line. */
export type Command = {
  readonly words: readonly string[]
  readonly options: ReadonlyMap<string, string>
  readonly data: readonly string[]
}

/** Splits a command line into the name of the verb and its command. */
export function parseCommand(line: string): { readonly name: string; readonly command: Command } {
  const [name = '', ...rest] = line.match(/"[^"]*"|\S+/g) ?? []
  const words: string[] = []
  const options = new Map<string, string>()
  const data: string[] = []
  for (const word of rest) {
    const equals = word.indexOf('=')
    if (word.startsWith('"')) data.push(word.slice(1, -1))
    else if (equals > 0) options.set(word.slice(0, equals), word.slice(equals + 1))
    else words.push(word)
  }
  return { name, command: { words, options, data } }
}
