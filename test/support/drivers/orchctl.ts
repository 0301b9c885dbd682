import { cli } from '../../../src/cli/cli.ts'
import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'

export type Ran = { readonly code: number; readonly out: string; readonly err: string }

/** One command of the shipped command line, in this process. */
export async function orchctl(...args: readonly string[]): Promise<Ran> {
  const [printed, noted]: [string[], string[]] = [[], []]
  const code = await cli(args, {
    ...{ clock: new RealClock(), random: new RealRandom(), program: 'orchctl' },
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
  })
  return { code, out: printed.join('\n'), err: noted.join('\n') }
}
