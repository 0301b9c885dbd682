/*
 * Measures the cost of a durable entry: appends 1.5 KiB entries in groups of 1, 32 (as a busy
 * leader does) and 256, and waits for each sync.
 *
 *   node dist/bench/micro/log-store.js [directory]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDirectoriesSync } from '../../base/make-directories.ts'
import { SeededRandom } from '../../base/random.ts'
import { logIndex, nodeId, term } from '../../raft/core/types.ts'
import type { Entry } from '../../raft/core/types.ts'
import { FileDisk } from '../../raft/log/file-disk.ts'
import { Wal } from '../../raft/log/wal.ts'

const entryDataBytes = 1536
const secondsPerRow = 5

const parent = process.argv[2] ?? tmpdir()
makeDirectoriesSync(parent)
console.log(
  `log store, ${entryDataBytes} B entries, ${cpus()[0]?.model ?? 'unknown cpu'}, node ${process.version}`,
)
console.log(`directory ${parent}`)
console.log('entries/group   entries/s   group p50 ms   p99 ms   max ms   CPU-ms/entry   MB/s')
for (const groupEntries of [1, 32, 256]) row(groupEntries)

function row(groupEntries: number): void {
  const directory = mkdtempSync(join(parent, 'bench-log-'))
  try {
    const wal = Wal.open({ disk: new FileDisk(directory), random: new SeededRandom(1) })
    wal.prepare()
    const data = new SeededRandom(2).bytes(entryDataBytes)
    const groupMs: number[] = []
    let last = 0
    const cpuBefore = process.cpuUsage()
    const began = process.hrtime.bigint()
    while (elapsedMs(began) < secondsPerRow * 1000) {
      const entries: Entry[] = []
      for (let count = 0; count < groupEntries; count++) {
        entries.push({ index: logIndex(++last), term: term(1), kind: 'command', data })
      }
      const started = process.hrtime.bigint()
      wal.append([
        {
          snapshot: null,
          entries,
          hardState: { term: term(1), vote: nodeId(1), commit: logIndex(last - groupEntries) },
        },
      ])
      groupMs.push(elapsedMs(started))
      wal.prepare()
      compactOld(wal, last)
    }
    const tookMs = elapsedMs(began)
    const cpu = process.cpuUsage(cpuBefore)
    report(groupEntries, { last, groupMs, tookMs, cpuMs: (cpu.user + cpu.system) / 1000 })
    wal.close()
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Compacts the log, as the driver does once the database has caught up. */
function compactOld(wal: Wal, last: number): void {
  const { base } = wal.recovered
  if (last % 65_536 !== 0 || last < 131_072) return
  wal.compact({ index: logIndex(last - 65_536), term: term(1), configuration: base.configuration })
}

function report(
  groupEntries: number,
  {
    last,
    groupMs,
    tookMs,
    cpuMs,
  }: { readonly last: number; readonly groupMs: number[]; readonly tookMs: number; readonly cpuMs: number },
): void {
  groupMs.sort((a, b) => a - b)
  const at = (share: number): string => (groupMs[Math.floor((groupMs.length - 1) * share)] ?? 0).toFixed(2)
  console.log(
    [
      String(groupEntries).padStart(13),
      Math.round((last / tookMs) * 1000)
        .toLocaleString('en')
        .padStart(11),
      at(0.5).padStart(14),
      at(0.99).padStart(8),
      at(1).padStart(8),
      (cpuMs / last).toFixed(4).padStart(14),
      ((last * entryDataBytes) / 1e3 / tookMs).toFixed(1).padStart(6),
    ].join(' '),
  )
}

function elapsedMs(since: bigint): number {
  return Number(process.hrtime.bigint() - since) / 1e6
}
