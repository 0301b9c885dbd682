/*
 * Runs seeds until one fails: node simulate.js FROM TO. Prints one line of JSON, the finding or
 * null.
 */
import { runSeed } from '../simulation/cluster.ts'
import { findingOf } from './evidence.ts'
import type { Finding } from './evidence.ts'

const [from, to] = process.argv.slice(2).map(Number)
if (from === undefined || to === undefined || !(from <= to)) throw new Error('usage: simulate.js FROM TO')

async function firstFinding(first: number, last: number): Promise<Finding | null> {
  for (let seed = first; seed <= last; seed++) {
    try {
      await runSeed({ seed, trace: null })
    } catch (cause) {
      return findingOf(`seed ${seed}`, cause)
    }
  }
  return null
}

console.log(JSON.stringify(await firstFinding(from, to)))
process.exit(0)
