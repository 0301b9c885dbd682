import { readFileSync } from 'node:fs'

/** Of `/proc` times. The kernel tells users a hundredth of a second, whatever it counts by itself. @source proc(5), times(2) */
const ticksPerSecond = 100

/** CPU time of a process so far, all its threads, in ms. @returns null where that cannot be known: it is gone, or no Linux */
export function cpuMsOf(pid: number): number | null {
  const stat = readProc(pid, 'stat')
  if (stat === null) return null
  // The command may hold spaces and brackets: fields are counted behind the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}

/** Resident memory in MiB. @returns null as above */
export function residentMiBOf(pid: number): number | null {
  const status = readProc(pid, 'status')
  return status === null ? null : Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

/** Files and sockets this process may have open at once. @returns null where that cannot be known */
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
