/*
 * Whole clusters from seeds.
 *
 *   node dist/test/simulation/run.js --seed 7 [--trace]
 *   node dist/test/simulation/run.js --seeds 1..100
 *
 * Ends with 1 and one line that repeats it when a seed fails.
 */
import { parseArgs } from 'node:util'
import { runSeed } from './cluster.ts'

const { values } = parseArgs({
  options: { seed: { type: 'string' }, seeds: { type: 'string' }, trace: { type: 'boolean' } },
})
const [first, last] = rangeOf(values.seed ?? values.seeds ?? '1')

for (let seed = first; seed <= last; seed++) {
  const began = performance.now()
  try {
    const trace = values.trace === true ? (line: string): void => console.log(line) : null
    const report = await runSeed({ seed, trace })
    const ms = Math.round(performance.now() - began)
    console.log(JSON.stringify({ ...report, ms }))
  } catch (cause) {
    console.log(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause))
    console.log(`seed ${seed} failed; repeat it with: make sim SEED=${seed}`)
    process.exit(1)
  }
}

function rangeOf(text: string): readonly [number, number] {
  const [from, to] = text.split('..').map(Number)
  if (from === undefined || !Number.isSafeInteger(from)) throw new Error(`not a seed: ${text}`)
  return [from, to === undefined ? from : to]
}
