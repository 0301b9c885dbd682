import { readFileSync, readdirSync } from 'node:fs'
import { markVariable } from '../../fixtures/port-range.ts'

export type Marked = { readonly pid: number; readonly command: string }

/**
 * Returns the mark of a process that this process starts, by its number; without a number, the
 * beginning of all these marks.
 */
export function markOf(started?: number): string {
  return `${process.pid}.${started === undefined ? '' : `${started}.`}`
}

/**
 * Returns the processes of this machine whose mark begins with `mark`, and their commands. Returns
 * none where there is no /proc.
 */
export function markedProcesses(mark: string): readonly Marked[] {
  const marked: Marked[] = []
  for (const name of textsIn('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const variables = textOf(`/proc/${pid}/environ`).split('\0')
    if (!variables.some((one) => one.startsWith(`${markVariable}=${mark}`))) continue
    marked.push({ pid, command: textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() })
  }
  return marked
}

export function killMarked(mark: string): void {
  for (const { pid } of markedProcesses(mark)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process ended by itself.
    }
  }
}

function textsIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** Empty when the process has ended, or belongs to another user. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
