import { assert } from '../../base/assert.ts'
import { parseCommand } from './command.ts'
import { verbs } from './verbs/index.ts'
import { World } from './world.ts'

/** One step of a transcript: its commands and their output. */
type Step = { readonly commands: readonly string[]; readonly output: readonly string[] }

/**
 * Runs the commands of a transcript and returns it with its current output: equal to the input if
 * nothing changed.
 *
 * A transcript is a series of steps, each: comments and commands, one per line; `----`; the output;
 * a blank line. Words of a command are separated by spaces; `key=value` words are options, `"…"`
 * words are data.
 */
export function runTranscript(transcript: string): string {
  const world = new World()
  const steps = parse(transcript).map(({ commands }) => {
    for (const line of commands) if (!line.startsWith('#')) runCommand(world, line)
    return { commands, output: world.takeLines() }
  })
  return format(steps)
}

function runCommand(world: World, line: string): void {
  const { name, command } = parseCommand(line)
  const verb = verbs.get(name)
  assert(verb !== undefined, `"${name}" is a verb`)
  verb(world, command)
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
