import { readFileSync } from 'node:fs'

/**
 * Returns whether a process of that ID runs on this machine. One that has ended does not, also
 * while its parent has not collected its exit code (a zombie).
 */
export function isProcessAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
  } catch (cause) {
    // With EPERM it belongs to another user.
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EPERM')) return false
  }
  return !isZombie(pid)
}

/** Places in `/proc/PID/stat` after the name of the program; see proc(5). */
const STATE = 0
const THREADS = 17

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name is in parentheses, and may contain some.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // Other threads may still run when the first one has ended.
    return fields[STATE] === 'Z' && Number(fields[THREADS]) <= 1
  } catch {
    // Without /proc nothing is known.
    return false
  }
}
