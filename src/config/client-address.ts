import { isIP } from 'node:net'
import type { Config } from './config.ts'
import { StartError } from './start-error.ts'

/**
 * Returns the address that clients connect to.
 *
 * @throws StartError `usage` when the port is not known yet
 */
export function clientAddress(config: Config): string {
  if (config['advertise-address'] !== '') return config['advertise-address']
  if (config['secure-port'] === 0) {
    throw new StartError(
      'usage',
      '--secure-port 0 is replaced by a free port only when a server starts: give a fixed port here',
    )
  }
  const everywhere = ['0.0.0.0', '::', ''].includes(config['bind-address'])
  const host = everywhere ? '127.0.0.1' : config['bind-address']
  return `${isIP(host) === 6 ? `[${host}]` : host}:${config['secure-port']}`
}
