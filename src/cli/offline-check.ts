import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { claimFileName } from '../data-dir/layout.ts'
import type { DirectoryLock } from '../host/directory-lock.ts'
import { BackupError } from '../backup/errors.ts'
import { CliError } from './errors.ts'
import { readAllEndpoints } from './member-client.ts'
import { lockedFor } from './snapshot-restore.ts'
import type { Terminal } from './terminal.ts'

/** Time to accept a connection. */
const connectMsMax = 2000

const remedy = 'run this without --offline, or stop all members first'

/**
 * Checks that no member runs: that nothing accepts connections at the addresses of the kubeconfig,
 * and that no process uses a data directory next to the keys. The directories stay locked, so that
 * no member starts in the meantime.
 *
 * @param kubeconfig path of the file with the addresses of the members. null: none was found
 * @returns a function that unlocks the directories
 * @throws CliError `failed`: a member runs
 */
export async function lockWhileOffline(
  terminal: Terminal,
  { directory, kubeconfig }: { readonly directory: string; readonly kubeconfig: string | null },
): Promise<() => void> {
  const endpoints = kubeconfig === null ? [] : readAllEndpoints(kubeconfig)
  const answering = await Promise.all(
    endpoints.map(async ({ name, url }) => ((await accepts(url)) ? `${name} answers at ${url}` : null)),
  )
  const running = answering.filter((one) => one !== null)
  if (running.length > 0) {
    const other = `if that is another program, give a --kubeconfig without that address`
    throw new CliError('failed', `${running.join(', ')}: ${remedy}; ${other}`)
  }
  const locks: DirectoryLock[] = []
  const unlock = (): void => locks.forEach((lock) => lock.release())
  try {
    for (const data of dataDirectories(directory)) locks.push(await lockedFor(terminal, data))
  } catch (cause) {
    unlock()
    if (!(cause instanceof BackupError)) throw cause
    throw new CliError('failed', `${cause.message}: ${remedy}`, { cause })
  }
  return unlock
}

/**
 * Returns the data directories of a member that made its keys, and of a cluster of `orchctl cluster
 * up`: next to the directory of the keys, which may be a link.
 */
function dataDirectories(keys: string): readonly string[] {
  const parents = new Set([realpathSync(dirname(resolve(keys))), dirname(realpathSync(keys))])
  return [...parents]
    .flatMap((parent) => [parent, ...readdirSync(parent).map((name) => join(parent, name, 'data'))])
    .filter((path) => existsSync(join(path, claimFileName)))
}

function accepts(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const signal = AbortSignal.timeout(connectMsMax)
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || (protocol === 'http:' ? 80 : 443)), signal })
    const end = (isAccepted: boolean): void => {
      resolve(isAccepted)
      socket.destroy()
    }
    socket.once('connect', () => end(true))
    socket.on('error', () => end(false))
  })
}
