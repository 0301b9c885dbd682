/*
 * Measures what the check of one object of a custom kind takes: schemas and objects that are built
 * to be expensive are checked until they end, or until the limit on steps ends them.
 *
 *   node dist/bench/micro/custom-validation.js [--rounds 3] [--only words]
 *
 * Every line is one case: the steps that it spends, CPU of this process in milliseconds, and CPU in
 * nanoseconds for each step. CPU is the lowest of the rounds, after one that is not measured. The
 * last lines are pruning and defaults, which spend no steps.
 */
import { parseArgs } from 'node:util'
import { conformCustom } from '../../src/api/custom/conform-custom.ts'
import { defaultCustom } from '../../src/api/custom/default-custom.ts'
import { customLimits } from '../../src/api/custom/limits.ts'
import { markerNames, readStructural } from '../../src/api/custom/structural.ts'
import type { Structural } from '../../src/api/custom/structural.ts'
import { validateObject } from '../../src/api/custom/validate-object.ts'
import { ApiError } from '../../src/api/errors/api-error.ts'
import { formatFindings } from '../../src/api/errors/field-error.ts'
import { Findings } from '../../src/api/errors/findings.ts'
import { StepBudget } from '../../src/api/step-budget.ts'
import { expensiveCases, pruningAndDefaultingCases } from '../../fixtures/expensive-schemas.ts'
import type { ExpensiveCase } from '../../fixtures/expensive-schemas.ts'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, only: { type: 'string', default: '' } },
})
const rounds = Number(options.rounds)
const markers = markerNames('x-orch-')

function cpuOf(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Each round has a schema of its own: expressions are faster once they have matched texts. */
function leastCpu(schema: ExpensiveCase['schema'], run: (root: Structural) => void): number {
  const round = (): number => {
    const root = readStructural({ type: 'object', properties: { a: schema } }, markers)
    return cpuOf(() => run(root))
  }
  round()
  return Math.min(...Array.from({ length: rounds }, round))
}

function validationLine({ what, schema, value, before }: ExpensiveCase): readonly string[] {
  const objectOf = (a: ExpensiveCase['value']) => ({ apiVersion: 'example.com/v1', kind: 'Thing', a })
  let steps = 0
  const cpu = leastCpu(schema, (root) => {
    const work = new StepBudget(customLimits.validationStepsMax)
    const found = new Findings()
    const replaced = before === undefined ? null : { object: objectOf(before), tolerated: new Findings() }
    validateObject({ root, rules: () => null }, objectOf(value), replaced, found, work)
    formatFindings(found.list)
    steps = Math.min(work.spent, customLimits.validationStepsMax)
  })
  return [what, String(steps), cpu.toFixed(0), ((cpu * 1e6) / Math.max(steps, 1)).toFixed(0)]
}

function shapingLine({ what, schema, value }: ExpensiveCase): readonly string[] {
  const object = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, a: value }
  let end = ''
  const cpu = leastCpu(schema, (root) => {
    try {
      defaultCustom(root, conformCustom(root, object).value)
      end = 'accepted'
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      end = error.code
    }
  })
  return [what, end, cpu.toFixed(0), '']
}

function print([what = '', ...figures]: readonly string[]): void {
  console.log([what.padEnd(96), ...figures.map((text) => text.padStart(14))].join(''))
}

const chosen = ({ what }: ExpensiveCase): boolean => what.includes(options.only)
print(['case', 'steps', 'CPU ms', 'ns for a step'])
for (const one of expensiveCases()) if (chosen(one)) print(validationLine(one))
for (const one of pruningAndDefaultingCases()) if (chosen(one)) print(shapingLine(one))
