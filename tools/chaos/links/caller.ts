import { readFile, readdir, readlink } from 'node:fs/promises'

/**
 * Which member is calling. All peers dial the same address, and what they say is encrypted; but on one machine the kernel
 * knows whose socket has which port: `/proc/net/tcp` gives the socket, `/proc/PID/fd` its owner. That needs no privilege for
 * processes of the same user.
 *
 * @param port of the caller, on a loopback address
 * @param pids of members that may be calling
 * @returns null when none of them has a socket of that port
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

/** Of the socket with that local port on 127.0.0.0/8, that belongs to a process. @param table as in `/proc/net/tcp` */
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
      // Descriptors come and go meanwhile.
      const target = await readlink(`${directory}/${name}`).catch(() => '')
      if (target === `socket:[${inode}]`) return true
    }
  } catch {
    // It ended.
  }
  return false
}
