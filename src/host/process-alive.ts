/** Returns whether a process of that ID exists on this machine. */
export function isProcessAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    // It belongs to another user.
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM'
  }
}
