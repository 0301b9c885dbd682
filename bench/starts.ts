/*
 * Measures the time until a server is ready: in memory, one durable member at its first and second
 * start, and three new members by `orchctl cluster up`, including their keys. For single members it
 * also measures the CPU time until then, which varies less on a busy machine, and the resident
 * memory when ready.
 *
 *   node dist/bundle/bench/starts.js [--rounds 5]
 */
import { parseArgs } from 'node:util'
import { startOnce } from './start-times.ts'

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })

const found = new Map<string, number[]>()
for (let round = 0; round < Number(options.rounds); round++) {
  for (const [what, value] of await startOnce('.build/bench/starts')) {
    found.set(what, [...(found.get(what) ?? []), value])
    console.error(`${what}: ${value.toFixed(0)}`)
  }
}
for (const [what, values] of found) {
  const sorted = values.toSorted((a, b) => a - b).map((one) => one.toFixed(0))
  console.log(`${what}: ${sorted[Math.floor((sorted.length - 1) / 2)]} (${sorted[0]}-${sorted.at(-1)})`)
}
