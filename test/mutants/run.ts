/* Proves that the tests notice deliberate mistakes: see `usage`. */
import { parseArgs } from 'node:util'
import { NotUnderstood, runCommand, wholeNumber } from '../support/tools/command-line.ts'
import { sourceOf } from './copy.ts'
import type { Copy } from './copy.ts'
import { mutants as all } from './list/index.ts'
import { nameOf, seeds } from './mutant.ts'
import type { Check, Mutant } from './mutant.ts'
import { mutated, StaleMutant } from './patch.ts'
import { runRandomMutations, summary } from './random/run.ts'
import { printRow, writeTable } from './table.ts'
import type { Row } from './table.ts'
import { baseline, confirmed, distinct, inLanes, tryMutant, unchanged } from './trial.ts'
import type { Tried } from './trial.ts'

const usage = `
Proves that the tests notice deliberate mistakes.

  node dist/test/mutants/run.js              every mutant, every check named for it
  node dist/test/mutants/run.js --only a,b   mutants whose id contains one of these
  node dist/test/mutants/run.js --sim        also looks for a seed of the simulation that notices it
  node dist/test/mutants/run.js --matrix     also which of all checks notice which mutant
  node dist/test/mutants/run.js --update     as --sim, and writes their rows of the table of test/mutants/README.md
  node dist/test/mutants/run.js --random 7 --count 20
                                             small random mutations of the sources, drawn from seed 7

Random mutations that survive are printed at the end, to be judged; they do not fail the run.
Ends with 1 when a mutant of the list survives, when one no longer applies to the sources, or when a
check fails without a mutant; with 2 when the command line is wrong.
`

type MutantArguments = {
  readonly chosen: readonly Mutant[]
  readonly simulates: boolean
  readonly matrix: boolean
  readonly update: boolean
}

type AskedRandom = { readonly seed: number; readonly count: number }

const randomCount = 20
const randomCountMax = 1000

/** @throws NotUnderstood, or what `parseArgs` throws */
function readArguments(args: readonly string[]): MutantArguments | AskedRandom {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      sim: { type: 'boolean' },
      matrix: { type: 'boolean' },
      update: { type: 'boolean' },
      random: { type: 'string' },
      count: { type: 'string' },
    },
  })
  const { only, sim = false, matrix = false, update = false, random, count } = values
  if (random !== undefined) {
    return {
      seed: wholeNumber('--random', random, 2 ** 32 - 1),
      count: count === undefined ? randomCount : wholeNumber('--count', count, randomCountMax),
    }
  }
  if (count !== undefined) throw new NotUnderstood('--count is for --random')
  const chosen = all.filter(({ id }) => only === undefined || isNamed(id, only))
  if (chosen.length === 0) throw new NotUnderstood(`--only ${only ?? ''}: no mutant has that in its id`)
  return { chosen, simulates: sim || update, matrix, update }
}

function isNamed(id: string, only: string): boolean {
  return only.split(',').some((part) => part !== '' && id.includes(part))
}

const everyCheck = distinct(all.flatMap((mutant) => [mutant.killedBy, ...(mutant.also ?? [])]))

function checksOf(mutant: Mutant, { matrix }: MutantArguments): readonly Check[] {
  const named = [mutant.killedBy, ...(mutant.also ?? [])]
  return matrix ? distinct([...named, ...everyCheck]) : named
}

async function tryOne(mutant: Mutant, reference: Copy, requested: MutantArguments): Promise<Row> {
  const tried = await tryMutant(mutant, checksOf(mutant, requested))
  const due = tried.slice(0, 1 + (mutant.also?.length ?? 0))
  let simulation: Tried | null = null
  if (requested.simulates && mutant.seeds !== undefined) {
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

/** Returns a message for each mutant that does not apply, before any check runs. */
function stale(chosen: readonly Mutant[]): readonly string[] {
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

async function main(requested: MutantArguments | AskedRandom): Promise<number> {
  if ('seed' in requested) {
    const tried = await runRandomMutations(requested.seed, requested.count, (line) => console.log(line))
    for (const line of summary(tried)) console.log(line)
    return 0
  }
  const unmakeable = stale(requested.chosen)
  for (const message of unmakeable) console.log(`STALE ${message}`)
  if (unmakeable.length > 0) return 1
  const reference = unchanged(requested.chosen)
  try {
    return await tryAll(reference, requested)
  } finally {
    reference.remove()
  }
}

async function tryAll(reference: Copy, requested: MutantArguments): Promise<number> {
  const { chosen } = requested
  const unfit = await baseline(reference, distinct(chosen.flatMap((mutant) => checksOf(mutant, requested))))
  for (const { check, verdict } of unfit) {
    const why =
      verdict.kind === 'failed' ? verdict.finding.message : verdict.kind === 'void' ? verdict.why : ''
    console.log(`UNFIT ${nameOf(check)} fails without any mutant: ${why}`)
  }
  if (unfit.length > 0) return 1
  const rows = await inLanes(chosen, (mutant) => tryOne(mutant, reference, requested))
  if (requested.matrix) {
    for (const { mutant, noticed } of rows) console.log(`${mutant.id}: ${noticed.join(', ') || 'nothing'}`)
  }
  const survivors = rows.filter(({ survived }) => survived.length > 0)
  console.log(
    `\n${rows.length - survivors.length} of ${rows.length} mutants were noticed by every check that has to fail`,
  )
  if (requested.update) {
    writeTable(
      rows,
      all.map(({ id }) => id),
    )
  }
  return survivors.length === 0 ? 0 : 1
}

process.exitCode = await runCommand(usage, async (args) => main(readArguments(args)))
