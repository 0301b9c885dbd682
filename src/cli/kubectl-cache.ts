import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { localHost } from './local-cluster.ts'

/**
 * Returns the discovery cache of kubectl for that port of this machine if it is from another API
 * domain: kinds of the current domain are then unknown to kubectl for hours.
 *
 * @returns the directory, or nothing
 */
export function staleDiscovery(clientPort: number, domain: string, home = homedir()): readonly string[] {
  const directory = join(home, '.kube', 'cache', 'discovery', `${localHost}_${clientPort}`)
  const groups = join(directory, 'servergroups.json')
  if (!existsSync(groups)) return []
  try {
    // Each domain has this group under its own name.
    return readFileSync(groups, 'utf8').includes(`"authorization.${domain}"`) ? [] : [directory]
  } catch {
    // Ignores a cache that cannot be read.
    return []
  }
}
