import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { FailoverFault } from '../../bench/tool/load.ts'
import type { LocalServers } from '../../bench/tool/target.ts'
import { theLeader } from '../../tools/chaos/fault.ts'
import { runChaos } from '../../tools/chaos/run.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { localHost, openCluster } from './local-cluster.ts'
import type { LocalCluster } from './local-cluster.ts'
import { LocalTarget } from './local-target.ts'
import { processState } from './process.ts'
import type { Terminal } from './terminal.ts'

/**
 * Returns access to the processes of the cluster in that directory, if all endpoints are running
 * members of it.
 *
 * @returns null otherwise
 * @throws CliError `failed` when the directory has only a part of a cluster
 */
export function localServers(
  terminal: Terminal,
  dir: string,
  endpoints: readonly Endpoint[],
): LocalServers | null {
  if (!existsSync(join(resolve(dir), 'n1'))) return null
  const cluster = openCluster(dir)
  const running = cluster.members.filter((member) => processState(member).kind === 'running')
  const ours = new Set(running.map(({ clientPort }) => `https://${localHost}:${clientPort}`))
  if (!endpoints.every(({ url }) => ours.has(url.replace(/\/$/, '')))) return null
  return {
    pids: () => pidsOf(cluster),
    injectFault: (fault, forMs, onBegin) => injectFault(terminal, cluster, { fault, forMs, onBegin }),
  }
}

function pidsOf(cluster: LocalCluster): readonly number[] {
  return cluster.members.flatMap((member) => {
    const state = processState(member)
    return state.kind === 'running' ? [state.pid] : []
  })
}

/**
 * Injects one fault like `orchctl chaos`, reverts it and waits until all members are ready.
 *
 * @throws ChaosError
 */
async function injectFault(
  terminal: Terminal,
  cluster: LocalCluster,
  what: { readonly fault: FailoverFault; readonly forMs: number; readonly onBegin: () => void },
): Promise<void> {
  const { fault, forMs, onBegin } = what
  const target = await LocalTarget.open(cluster, terminal)
  try {
    await runChaos({
      ...{ target, clock: terminal.clock, durationMs: forMs, signal: new AbortController().signal },
      plan: [{ atMs: 0, forMs, target: theLeader, lane: null, spec: { kind: fault } }],
      ...{ onBegin, onDone: () => undefined },
    })
  } finally {
    target.close()
  }
}
