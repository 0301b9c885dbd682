import type { ServerVersion } from '../server/parts.ts'
import { programVersion } from '../version.ts'

/** What `/version` tells. A build from a checkout has no commit or date of its own. */
export function serverVersion(): ServerVersion {
  return {
    program: programVersion,
    gitCommit: 'unknown',
    buildDate: '1970-01-01T00:00:00Z',
    runtime: process.version,
    platform: `${process.platform}/${process.arch}`,
  }
}
