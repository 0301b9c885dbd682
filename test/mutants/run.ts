/*
 * Proves that the tests notice deliberate mistakes.
 *
 *   node dist/test/mutants/run.js              every mutant, every check named for it
 *   node dist/test/mutants/run.js --only a,b   mutants whose id contains one of these
 *   node dist/test/mutants/run.js --sim        also looks for a seed of the simulation that notices it
 *   node dist/test/mutants/run.js --matrix     also which of all checks notice which mutant
 *   node dist/test/mutants/run.js --update     as --sim, and writes the table of test/mutants/README.md
 *
 * Ends with 1 when a mutant survives, when one fits the sources no more, or when a check fails without any.
 */
import { parseArgs } from 'node:util'
import { sourceOf } from './copy.ts'
import type { Copy } from './copy.ts'
import { mutants as all } from './list/index.ts'
import { nameOf, seeds } from './mutant.ts'
import type { Check, Mutant } from './mutant.ts'
import { mutated, StaleMutant } from './patch.ts'
import { printRow, writeTable } from './table.ts'
import type { Row } from './table.ts'
import { baseline, confirmed, distinct, inLanes, tryMutant, unchanged } from './trial.ts'
import type { Tried } from './trial.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    sim: { type: 'boolean' },
    matrix: { type: 'boolean' },
    update: { type: 'boolean' },
  },
})
const simulates = values.sim === true || values.update === true
const parts = (values.only ?? '').split(',')
const chosen = all.filter(({ id }) => parts.some((part) => id.includes(part)))
if (chosen.length === 0) throw new Error(`no mutant has ${values.only} in its id`)

const everyCheck = distinct(all.flatMap((mutant) => [mutant.killedBy, ...(mutant.also ?? [])]))

function checksOf(mutant: Mutant): readonly Check[] {
  const named = [mutant.killedBy, ...(mutant.also ?? [])]
  return values.matrix === true ? distinct([...named, ...everyCheck]) : named
}

async function tryOne(mutant: Mutant, reference: Copy): Promise<Row> {
  const tried = await tryMutant(mutant, checksOf(mutant))
  const due = tried.slice(0, 1 + (mutant.also?.length ?? 0))
  let simulation: Tried | null = null
  if (simulates && mutant.seeds !== undefined) {
    const [seen] = await tryMutant(mutant, [seeds(1, mutant.seeds)])
    simulation = seen === undefined ? null : await confirmed(seen, reference)
  }
  if (simulation !== null) due.push(simulation)
  const survived = due.filter(({ verdict }) => verdict.kind !== 'failed')
  const row: Row = {
    mutant,
    quickest: tried[0] ?? null,
    simulation,
    noticed: tried.filter(({ verdict }) => verdict.kind === 'failed').map(({ check }) => nameOf(check)),
    survived,
  }
  printRow(row)
  return row
}

/** All at once, and before anything runs. */
function stale(): readonly string[] {
  return chosen.flatMap((mutant) => {
    try {
      mutated(sourceOf(mutant.file), mutant)
      return []
    } catch (cause) {
      if (!(cause instanceof StaleMutant)) throw cause
      return cause.message
    }
  })
}

async function main(): Promise<number> {
  const unmakeable = stale()
  for (const message of unmakeable) console.log(`STALE ${message}`)
  if (unmakeable.length > 0) return 1
  const reference = unchanged(chosen)
  try {
    return await tryAll(reference)
  } finally {
    reference.remove()
  }
}

async function tryAll(reference: Copy): Promise<number> {
  const unfit = await baseline(reference, distinct(chosen.flatMap(checksOf)))
  for (const { check, verdict } of unfit) {
    const why =
      verdict.kind === 'failed' ? verdict.finding.message : verdict.kind === 'void' ? verdict.why : ''
    console.log(`UNFIT ${nameOf(check)} fails without any mutant: ${why}`)
  }
  if (unfit.length > 0) return 1
  const rows = await inLanes(chosen, (mutant) => tryOne(mutant, reference))
  if (values.matrix === true) {
    for (const { mutant, noticed } of rows) console.log(`${mutant.id}: ${noticed.join(', ') || 'nothing'}`)
  }
  const survivors = rows.filter(({ survived }) => survived.length > 0)
  console.log(
    `\n${rows.length - survivors.length} of ${rows.length} mutants were noticed by all they should be`,
  )
  if (values.update === true && values.only === undefined) writeTable(rows)
  return survivors.length === 0 ? 0 : 1
}

process.exitCode = await main()
