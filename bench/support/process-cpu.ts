import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

let hertz: number | null = null

/** CPU time of a process so far, all its threads, in ms. Linux only: read from /proc. */
export function cpuMsOf(pid: number): number {
  hertz ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command may hold spaces and brackets: fields are counted behind the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / hertz
}

/** Resident memory in MiB. */
export function residentMiBOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}
