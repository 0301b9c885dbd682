import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { localHost } from './local-cluster.ts'

/**
 * Where kubectl keeps what it learned of a server at that port of this machine, if that was of another API domain: kinds of
 * the other domain are found nowhere until it asks again, after hours.
 *
 * @returns the directory, or nothing
 */
export function staleDiscovery(clientPort: number, domain: string, home = homedir()): readonly string[] {
  const directory = join(home, '.kube', 'cache', 'discovery', `${localHost}_${clientPort}`)
  const groups = join(directory, 'servergroups.json')
  if (!existsSync(groups)) return []
  try {
    // Each cluster has this group under its own domain.
    return readFileSync(groups, 'utf8').includes(`"authorization.${domain}"`) ? [] : [directory]
  } catch {
    // It is kubectl's: what cannot be read is not judged.
    return []
  }
}
