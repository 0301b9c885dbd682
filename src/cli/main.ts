#!/usr/bin/env node
import { basename } from 'node:path'
import { RealClock } from '../host/clock.ts'
import { RealRandom } from '../host/random.ts'
import { cli } from './cli.ts'
import { shownPath } from './shown-path.ts'

const [, script = ''] = process.argv
// An installed command has another name; from a checkout it is started by its path.
const program = basename(script) === 'main.js' ? `node ${shownPath(script, process.cwd())}` : basename(script)

async function main(): Promise<void> {
  process.exitCode = await cli(process.argv.slice(2), {
    print: (line) => console.log(line),
    note: (line) => console.error(line),
    clock: new RealClock(),
    random: new RealRandom(),
    program,
  })
}

// Not awaited, because the bundle is a script, which has no top-level await.
void main()
