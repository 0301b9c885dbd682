import { readFileSync } from 'node:fs'

/** Resolution of times in `/proc`: 1/100 s on all systems. @source proc(5), times(2) */
const ticksPerSecond = 100

/**
 * Returns the CPU time of a process with all its threads in ms.
 *
 * @returns null when unknown: it has ended, or this is not Linux
 */
export function cpuMsOf(pid: number): number | null {
  const stat = readProc(pid, 'stat')
  if (stat === null) return null
  // The command may contain spaces and parentheses: fields are counted from the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}

/** Returns the resident memory in MiB. @returns null when unknown */
export function residentMiBOf(pid: number): number | null {
  const status = readProc(pid, 'status')
  return status === null ? null : Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

/** Returns the limit of open files of this process. @returns null when unknown */
export function openFilesMax(): number | null {
  const limit = /^Max open files\s+(\d+)/m.exec(readProc('self', 'limits') ?? '')?.[1]
  return limit === undefined ? null : Number(limit)
}

function readProc(pid: number | 'self', file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return null
  }
}
