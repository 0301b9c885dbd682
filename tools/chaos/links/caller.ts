import { readFile, readdir, readlink } from 'node:fs/promises'

/**
 * Identifies the member that opened a connection. All peers connect to the same address over TLS,
 * but on one machine the kernel knows the owner of each port: `/proc/net/tcp` has the socket,
 * `/proc/PID/fd` its process. This needs no privileges for processes of the same user.
 *
 * @param port of the caller, on a loopback address
 * @param pids of the members
 * @returns null when none of them has a socket with that port
 * @source proc(5), proc_pid_fd(5), proc_net_tcp(5)
 */
export async function callerOf(port: number, pids: ReadonlyMap<string, number>): Promise<string | null> {
  const inode = inodeOf(await readFile('/proc/net/tcp', 'utf8'), port)
  if (inode === null) return null
  const owners = await Promise.all(
    [...pids].map(async ([name, pid]) => ((await owns(pid, inode)) ? name : null)),
  )
  return owners.find((name) => name !== null) ?? null
}

/**
 * Returns the inode of the socket with that local port on 127.0.0.0/8.
 *
 * @param table as in `/proc/net/tcp`
 */
export function inodeOf(table: string, port: number): string | null {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  for (const line of table.split('\n')) {
    const words = line.trim().split(/\s+/)
    const [local = '', inode = '0'] = [words[1], words[9]]
    if (local.endsWith(`7F:${hex}`) && inode !== '0') return inode
  }
  return null
}

async function owns(pid: number, inode: string): Promise<boolean> {
  const directory = `/proc/${pid}/fd`
  try {
    for (const name of await readdir(directory)) {
      // File descriptors come and go.
      const target = await readlink(`${directory}/${name}`).catch(() => '')
      if (target === `socket:[${inode}]`) return true
    }
  } catch {
    // The process ended.
  }
  return false
}
