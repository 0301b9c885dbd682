/*
 * `make bench`: prints the table of bench/README.md. SECONDS each load runs (default 8), ROUNDS of the whole (default 3):
 * the median is quoted with the lowest and the highest of the rounds.
 */
import { execFileSync } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { benchHttp } from './http.ts'
import type { Row } from './http.ts'

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}

function spread(values: readonly number[], digits: number): string {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (index: number): string => (sorted[index] ?? 0).toFixed(digits)
  const median = at(Math.floor(sorted.length / 2))
  return sorted.length === 1 ? median : `${median} (${at(0)}-${at(sorted.length - 1)})`
}

const seconds = Number(process.env['SECONDS'] ?? 8)
const rounds = Number(process.env['ROUNDS'] ?? 3)
console.log(
  `commit ${commit()}, Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${rounds} rounds of ${seconds} s`,
)

const byWork = new Map<string, Row[]>()
for (let round = 1; round <= rounds; round++) {
  console.log(`round ${round}`)
  const rows = await benchHttp({
    seconds,
    print: (row) =>
      console.log(
        `  ${row.work}: ${row.perSecond.toFixed(0)}/s, p50 ${row.p50Ms.toFixed(2)} ms, p99 ${row.p99Ms.toFixed(2)} ms, ${row.cpuMs.toFixed(3)} CPU-ms, memory ${row.memoryMiB.join('+')} MiB`,
      ),
  })
  for (const row of rows) byWork.set(row.work, [...(byWork.get(row.work) ?? []), row])
}
console.log('\n| work | rate per second | p50 ms | p99 ms | CPU of all servers, ms | generator, ms |')
console.log('|---|---|---|---|---|---|')
for (const [work, rows] of byWork) {
  const column = (pick: (row: Row) => number, digits: number): string => spread(rows.map(pick), digits)
  console.log(
    `| ${work} | ${column((row) => row.perSecond, 0)} | ${column((row) => row.p50Ms, 2)} | ${column((row) => row.p99Ms, 2)} | ${column((row) => row.cpuMs, 3)} | ${column((row) => row.generatorCpuMs, 3)} |`,
  )
}
