/*
 * Goal: the command of the simulator does what its arguments request or fails with one line; a run
 * of nothing never passes.
 * Method: the parser of its arguments, and the command itself as a process; wrong arguments for the
 * commands of the mutants and of the tests.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readArguments } from '../../simulation/arguments.ts'
import { replayCommand } from '../../simulation/shrink.ts'
import { NotUnderstood } from '../../support/tools/command-line.ts'

void test('arguments for one seed and for many seeds are accepted', () => {
  const one = { kind: 'one', trace: false, shrink: false }
  assert.deepEqual(readArguments([]), { ...one, job: { seed: 1 } })
  assert.deepEqual(readArguments(['--seed', '7', '--trace', '--shrink']), {
    ...{ kind: 'one', trace: true, shrink: true },
    job: { seed: 7 },
  })
  assert.deepEqual(readArguments(['--seeds', '1..100', '--jobs', '2']), {
    ...{ kind: 'many', first: 1, last: 100, jobs: 2 },
  })
  assert.deepEqual(readArguments(['--seeds', '5']), { kind: 'many', first: 5, last: 5, jobs: null })
})

void test('the command printed for a shrunk failure parses to the same reduction', () => {
  for (const job of [
    { seed: 7 },
    { seed: 7, faultsMs: 4000 },
    { seed: 7, reduction: { actions: [], quiet: [] } },
    { seed: 7, reduction: { actions: null, quiet: ['loss', 'drift'] } },
    { seed: 7, reduction: { actions: [0, 3], quiet: ['loss'] }, faultsMs: 900 },
  ] as const) {
    const words = replayCommand(job)
      .replace(/^make sim /, '')
      .split(' ')
    const args = words.flatMap((word) => {
      const [name = '', value = ''] = word.split('=')
      return [`--${name.toLowerCase().replace('_', '-')}`, value]
    })
    assert.deepEqual(readArguments(args), { kind: 'one', trace: false, shrink: false, job })
  }
})

const invalidArguments: readonly (readonly [string, RegExp])[] = [
  ['--seeds 5..1', /--seeds 5\.\.1 contains no seed/],
  ['--seeds 1..', /--seeds is a whole number, not ""/],
  ['--seeds 1..2..3', /--seeds is a range such as 1\.\.100/],
  ['--seeds 1..9 --jobs 0', /--jobs 0 would run nothing/],
  ['--seeds 1..9 --jobs 1000000', /--jobs is a whole number up to 256/],
  ['--seeds 1..9 --trace', /--trace is for one seed/],
  ['--seeds 1..9 --seed 4', /--seed is for one seed/],
  ['--seed 7 --jobs 2', /--jobs requires --seeds/],
  ['--seed 1e3', /--seed is a whole number, not "1e3"/],
  ['--seed 99999999999999999999', /--seed is a whole number/],
  ['--actions 1,,2', /each of --actions is a whole number, not ""/],
  ['--quiet thunder', /--quiet accepts .*loss.*, not "thunder"/],
  ['--faults-ms soon', /--faults-ms is a whole number/],
]

for (const [words, expected] of invalidArguments) {
  void test(`the arguments ${words} are refused`, () => {
    assert.throws(
      () => readArguments(words.split(' ')),
      (cause) => cause instanceof NotUnderstood && expected.test(cause.message),
    )
  })
}

/** Wrong arguments of each program; a start of the first two takes about a second. */
const wrong = {
  'simulation/run.js': [['--onyl', 'x'], ['--seed']],
  'mutants/run.js': [['--only'], ['--only', 'no such thing at all']],
  'run.js': [['--onyl', 'x'], ['--only'], ['--seed'], ['--only', 'no such thing at all']],
}

for (const [tool, wrongArguments] of Object.entries(wrong)) {
  const program = fileURLToPath(new URL(`../../${tool}`, import.meta.url))
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })

  void test(`${tool}: --help prints the usage, and wrong arguments are a one-line error with code 2`, () => {
    const help = run('--help')
    assert.deepEqual([help.status, help.stderr], [0, ''])
    assert.match(help.stdout, new RegExp(`node dist/test/${tool} `))
    for (const args of wrongArguments) {
      const ran = run(...args)
      assert.deepEqual([ran.status, ran.stdout], [2, ''], args.join(' '))
      assert.match(ran.stderr, /^[^\n]+; see --help\n$/, args.join(' '))
    }
  })
}
