import { assert } from '../../base/assert.ts'
import { verbs } from './verbs/index.ts'
import { World } from './world.ts'

/** One step of a transcript: what was asked, and everything that happened. */
type Step = { readonly commands: readonly string[]; readonly output: readonly string[] }

/**
 * Runs a transcript from its commands and writes down what happens now. Equal to the input if
 * nothing changed.
 *
 * A transcript is a series of steps, each: comments and commands, one per line; `----`; what
 * happened; a blank line. Words of a command are separated by spaces; `key=value` words are
 * options, `"…"` words are data.
 */
export function runTranscript(transcript: string): string {
  const world = new World()
  const steps = parse(transcript).map(({ commands }) => {
    for (const line of commands) if (!line.startsWith('#')) runCommand(world, line)
    return { commands, output: world.takeLines() }
  })
  return format(steps)
}

/** Words, options and data of one command line. */
export type Command = {
  readonly words: readonly string[]
  readonly options: ReadonlyMap<string, string>
  readonly data: readonly string[]
}

function runCommand(world: World, line: string): void {
  const [name, ...rest] = line.match(/"[^"]*"|\S+/g) ?? []
  const verb = verbs.get(name ?? '')
  assert(verb !== undefined, `"${name ?? ''}" is a verb`)
  const words: string[] = []
  const options = new Map<string, string>()
  const data: string[] = []
  for (const word of rest) {
    const equals = word.indexOf('=')
    if (word.startsWith('"')) data.push(word.slice(1, -1))
    else if (equals > 0) options.set(word.slice(0, equals), word.slice(equals + 1))
    else words.push(word)
  }
  verb(world, { words, options, data })
}

function parse(transcript: string): readonly Step[] {
  const steps: Step[] = []
  for (const block of transcript.trim().split(/\n\n+/)) {
    const lines = block.split('\n')
    const rule = lines.indexOf('----')
    const commands = rule < 0 ? lines : lines.slice(0, rule)
    steps.push({ commands, output: rule < 0 ? [] : lines.slice(rule + 1) })
  }
  return steps
}

function format(steps: readonly Step[]): string {
  const blocks = steps.map(({ commands, output }) => {
    if (commands.every((line) => line.startsWith('#'))) return commands.join('\n')
    return [...commands, '----', ...(output.length === 0 ? ['(nothing)'] : output)].join('\n')
  })
  return `${blocks.join('\n\n')}\n`
}
