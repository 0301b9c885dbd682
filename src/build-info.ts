import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { programVersion } from './version.ts'

/** A file next to the compiled program, which `make build` writes from a git checkout. */
const infoPath = fileURLToPath(new URL('./build-info.json', import.meta.url))

/** Returns the content of `/version`. A build outside of a checkout has no commit or date. */
export function buildInfo(path: string = infoPath): BuildInfo {
  return {
    program: programVersion,
    ...builtFrom(path),
    runtime: process.version,
    platform: `${process.platform}/${process.arch}`,
  }
}

const unknown = { gitCommit: 'unknown', buildDate: '1970-01-01T00:00:00Z' } as const

function builtFrom(path: string): Pick<BuildInfo, 'gitCommit' | 'buildDate'> {
  try {
    const info: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (typeof info !== 'object' || info === null) return unknown
    if (!('gitCommit' in info) || !('buildDate' in info)) return unknown
    const { gitCommit, buildDate } = info
    if (typeof gitCommit !== 'string' || !/^[0-9a-f]{40,64}$/.test(gitCommit)) return unknown
    if (typeof buildDate !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(buildDate)) return unknown
    return { gitCommit, buildDate }
  } catch {
    // The program works without build information.
    return unknown
  }
}

export type BuildInfo = {
  /** Such as `0.1.0`. */
  readonly program: string
  readonly gitCommit: string
  /** RFC 3339. */
  readonly buildDate: string
  /** Such as `v20.20.2`. */
  readonly runtime: string
  /** Such as `linux/x64`. */
  readonly platform: string
}
