import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Endpoint } from '../src/credentials/endpoint.ts'
import { freePortRange } from '../fixtures/port-range.ts'
import { addTokens, endpointsOf } from './own-cluster.ts'
import { runCommand } from './programs.ts'
import type { Programs } from './programs.ts'
import type { LocalServers } from './tool/target.ts'

const nodes = 3

/**
 * Starts three durable members of another commit on this machine, with its own `orchctl`. Only what
 * every commit has in common is used: the flags of `cluster up` and `cluster down`, the file
 * `pki/ca.crt`, and the files `config.yaml` and `pid` of a member.
 *
 * @param directory removed first. Not under /tmp, which may be a RAM disk
 */
export async function startOther(directory: string, programs: Programs): Promise<readonly Endpoint[]> {
  rmSync(directory, { recursive: true, force: true })
  const first = await freePortRange(2 * nodes)
  const ports = ['--client-port', `${first}`, '--peer-port', `${first + nodes}`]
  // A cluster is created with its start, and its members read their configuration at a start.
  await runCommand(programs, ['cluster', 'up', '--dir', directory, ...ports])
  await runCommand(programs, ['cluster', 'down', '--dir', directory])
  const configPaths = memberDirectories(directory).map((member) => join(member, 'config.yaml'))
  const token = addTokens(directory, configPaths)
  await runCommand(programs, ['cluster', 'up', '--dir', directory])
  return endpointsOf(
    directory,
    configPaths.map((_, at) => first + at),
    token,
  )
}

/** Returns the processes of the members there. Faults are not supported. */
export function serversIn(directory: string): LocalServers {
  return {
    pids: () =>
      memberDirectories(directory).map((member) => Number(readFileSync(join(member, 'pid'), 'utf8'))),
    injectFault: () => Promise.reject(new Error('faults are injected only into members of this commit')),
  }
}

/** Stops an existing cluster, also a partial one, and removes its directory. */
export async function takeDownOther(directory: string, programs: Programs): Promise<void> {
  if (!existsSync(directory)) return
  if (memberDirectories(directory).length > 0)
    await runCommand(programs, ['cluster', 'down', '--dir', directory])
  rmSync(directory, { recursive: true, force: true })
}

function memberDirectories(directory: string): readonly string[] {
  const names = readdirSync(directory).filter((name) => /^n[1-9]$/.test(name))
  return names.toSorted().map((name) => join(directory, name))
}
