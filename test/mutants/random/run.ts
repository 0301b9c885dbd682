import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SeededRandom } from '../../../base/random.ts'
import { sourcesUnder } from '../../tidy/sources.ts'
import { runCheck } from '../check.ts'
import { Copy, root, sourceOf } from '../copy.ts'
import { nameOf, seeds } from '../mutant.ts'
import type { Check } from '../mutant.ts'
import { compiled } from '../patch.ts'
import { LoadedTexts, recordedCoverage } from './coverage.ts'
import { drawMutations } from './draw.ts'
import { applied, describeMutation } from './mutation.ts'
import type { Mutation } from './mutation.ts'
import { outcomeOf } from './outcome.ts'
import type { Outcome } from './outcome.ts'
import { checksFor, firstDifference } from './selection.ts'
import type { CoveringCheck } from './selection.ts'
import { mutationsOf } from './sites.ts'
import { TypeChecker } from './type-check.ts'

export type Tried = { readonly mutation: Mutation; readonly outcome: Outcome }

/** Few seeds of the simulation for each mutation: the other tests should notice it. */
const simulated = seeds(1, 3)
const testedSuites = ['unit', 'scenario', 'conformance', 'model', 'integration'] as const
const bounds = { checksMax: 40, secondsMax: 240 }
/** A mutation that makes a check this much slower than it was is a hang. */
const slowdownMax = 10
const hangMs = 60_000

/**
 * Makes `count` random mutations that type-check, one after another, and runs the checks that
 * execute the place until one fails. The same seed and sources give the same mutations.
 *
 * @param log receives a line after each step
 */
export async function runRandomMutations(
  seed: number,
  count: number,
  log: (line: string) => void,
): Promise<readonly Tried[]> {
  const files = productSources()
  const programs = new Map(files.map((file) => [file, compiled(sourceOf(file), file)]))
  const mutations = drawn(seed, count, programs)
  log(`seed ${seed}: ${mutations.length} mutations of ${files.length} files`)
  const copy = new Copy()
  try {
    for (const [file, program] of programs) copy.replace(file, program)
    const checks = await covering(copy, log)
    const tried: Tried[] = []
    for (const mutation of mutations) {
      const original = programs.get(mutation.file) ?? ''
      const outcome = await tryMutation(mutation, original, checks, copy)
      tried.push({ mutation, outcome })
      log(`${tried.length}/${mutations.length} ${rowOf({ mutation, outcome }).join(' | ')}`)
    }
    return tried
  } finally {
    copy.remove()
  }
}

/** Returns the sources in `base`, `raft` and `src`, without `.d.ts` files. */
function productSources(): readonly string[] {
  return ['base', 'raft', 'src']
    .flatMap(sourcesUnder)
    .filter((file) => !file.endsWith('.d.ts'))
    .sort()
}

function drawn(seed: number, count: number, programs: ReadonlyMap<string, string>): readonly Mutation[] {
  const files = [...programs.keys()]
  const checker = new TypeChecker(files)
  return drawMutations(
    files.flatMap((file) => mutationsOf(file, sourceOf(file))),
    {
      random: new SeededRandom(seed),
      count,
      sourceOf,
      accepts: ({ file }, changed) =>
        checker.accepts(file, changed) && compiled(changed, file) !== programs.get(file),
    },
  )
}

/** Returns every check with its coverage; that of the simulation last. */
async function covering(copy: Copy, log: (line: string) => void): Promise<readonly CoveringCheck[]> {
  const texts = new LoadedTexts(copy)
  const files = testedSuites.flatMap((suite) => testFilesUnder(suite))
  const checks: readonly Check[] = [...files.map((file) => ({ kind: 'tests', file }) as const), simulated]
  const found: CoveringCheck[] = []
  for (const check of checks) {
    const program = check.kind === 'tests' ? `test/${check.file}` : 'test/mutants/simulate.ts'
    const hash = texts.hashOf(program.replace(/\.ts$/, '.js'))
    const recorded = await recordedCoverage(check, copy, hash)
    if (!recorded.passes) log(`not used, as it fails without a mutation: ${nameOf(check)}`)
    found.push({ check, recorded })
    if (found.length % 50 === 0) log(`coverage of ${found.length} of ${checks.length} checks`)
  }
  return found
}

function testFilesUnder(folder: string): readonly string[] {
  return readdirSync(join(root, 'test', folder), { withFileTypes: true, recursive: true })
    .filter(({ name }) => name.endsWith('.test.ts'))
    .map(({ parentPath, name }) => join(parentPath, name).slice(join(root, 'test/').length))
    .sort()
}

async function tryMutation(
  mutation: Mutation,
  original: string,
  all: readonly CoveringCheck[],
  copy: Copy,
): Promise<Outcome> {
  const { file } = mutation
  const program = compiled(applied(sourceOf(file), mutation), file)
  const chosen = checksFor(file, firstDifference(original, program), all, bounds)
  const seconds = new Map(chosen.map(({ check, recorded }) => [check, recorded.seconds]))
  try {
    return await outcomeOf([...seconds.keys()], (check, which) => {
      copy.replace(file, which === 'mutated' ? program : original)
      const endAfterMs = hangMs + (seconds.get(check) ?? 0) * 1000 * slowdownMax
      return runCheck(check, copy, { endAfterMs })
    })
  } finally {
    copy.replace(file, original)
  }
}

/** Returns the place, the change and the outcome. */
export function rowOf({ mutation, outcome }: Tried): readonly string[] {
  const { file, line } = mutation
  const result = resultOf(outcome)
  return [`${file}:${line}`, describeMutation(sourceOf(file), mutation), result]
}

function resultOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'noticed':
      return `noticed by ${outcome.by}: ${outcome.how}`
    case 'survived':
      return `SURVIVED ${outcome.checks} checks`
    case 'unreached':
      return 'SURVIVED, as no check reaches it'
    case 'unchecked':
      return `NOT CHECKED, as ${outcome.by} fails without the mutation too: ${outcome.why}`
  }
}

/** Returns the survivors and what was not checked, and how many of the others were noticed. */
export function summary(tried: readonly Tried[]): readonly string[] {
  const checked = tried.filter(({ outcome }) => outcome.kind !== 'unchecked')
  const noticed = checked.filter(({ outcome }) => outcome.kind === 'noticed')
  return [
    '',
    ...tried.filter(({ outcome }) => outcome.kind !== 'noticed').map((one) => rowOf(one).join(' | ')),
    `${noticed.length} of ${checked.length} random mutations were noticed`,
    ...(checked.length < tried.length ? [`${tried.length - checked.length} were not checked`] : []),
  ]
}
