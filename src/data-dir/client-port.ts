import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { readFileIfThere, replaceFile } from '../pki/files.ts'
import { StartError } from '../config/start-error.ts'
import { isClaimed } from './member-identity.ts'
import { clientPortFileName } from './layout.ts'

/**
 * Returns the configuration with the port that clients dial. With `--secure-port 0` that is a free
 * port, chosen at the first start and kept from then on, because the cluster's record of this
 * member and every kubeconfig contain it.
 *
 * @param directory locked by this process
 * @throws StartError `usage`, `data-directory`, `address`
 */
export async function withClientPort(config: Config, directory: string): Promise<Config> {
  if (config['secure-port'] !== 0) return config
  const path = join(directory, clientPortFileName)
  const kept = keptPort(path)
  if (kept !== null) return Object.freeze({ ...config, 'secure-port': kept })
  if (isClaimed(directory)) {
    const known = 'the cluster knows this member by the port it had before'
    throw new StartError('usage', `--secure-port 0 takes any free port, and ${known}: give that one`)
  }
  const port = await freePort(config['bind-address'])
  replaceFile(path, `${port}\n`, 'public')
  return Object.freeze({ ...config, 'secure-port': port })
}

/**
 * Returns why the client port cannot be opened, and the remedy.
 * @param cause the error of listening
 */
export function cannotServe(cause: unknown): StartError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
  const why = cause instanceof Error ? cause.message : String(cause)
  const remedy = remedies.get(code) ?? 'give another --bind-address or --secure-port'
  return new StartError('address', `cannot serve clients: ${why}: ${remedy}`, { cause })
}

const remedies: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'stop the process that uses the port, or give another --secure-port'],
  ['EACCES', 'give a --secure-port that this user may listen on'],
  ['EADDRNOTAVAIL', 'give a --bind-address of this machine'],
  ['ENOTFOUND', 'give a --bind-address of this machine'],
])

/**
 * Returns the port that an earlier start chose, or null if none did.
 * @throws StartError `data-directory`
 */
function keptPort(path: string): number | null {
  const text = readFileIfThere(path)
  if (text === null) return null
  const port = Number(/^(\d{1,5})\n$/.exec(text)?.[1] ?? 0)
  if (port >= 1 && port <= 65_535) return port
  throw new StartError(
    'data-directory',
    `${path} is damaged: write into it the port of admin.kubeconfig in the same directory, or give it as --secure-port`,
  )
}

/**
 * Returns a port that is free now, found by listening on it briefly.
 * @throws StartError `address`
 */
async function freePort(host: string): Promise<number> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, host, resolve)
    })
  } catch (cause) {
    throw cannotServe(cause)
  }
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address !== 'object' || address === null) throw cannotServe('no port was given')
  return address.port
}
