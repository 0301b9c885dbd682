import { waitGone, waitReady } from './cluster.ts'
import { CliFailure } from './errors.ts'
import { openCluster } from './local-cluster.ts'
import type { LocalMember } from './local-cluster.ts'
import { logLength, processState, signalProcess, startProcess } from './process.ts'
import { namesInOrder } from './name-order.ts'
import type { Terminal } from './terminal.ts'

/**
 * Stops and starts a member, or all of them one after the other, each only when the one before is ready: so a cluster of
 * three or more goes on answering. One that does not run is started.
 *
 * @param name null: all @throws CliFailure `failed`
 */
export async function clusterRestart(
  terminal: Terminal,
  name: string | null,
  options: { readonly directory: string; readonly timeoutMs: number },
): Promise<void> {
  const cluster = openCluster(options.directory)
  const members = name === null ? cluster.members : cluster.members.filter((member) => member.name === name)
  if (members.length === 0) {
    const names = namesInOrder(cluster.members)
    throw new CliFailure('failed', `${String(name)} is no member of ${cluster.directory}: there are ${names}`)
  }
  for (const member of members) {
    await stop(terminal, member, options.timeoutMs)
    const logFrom = new Map([[member.name, logLength(member)]])
    const { pid } = startProcess(member)
    terminal.note(`${member.name} started (pid ${pid}), clients on port ${member.clientPort}`)
    await waitReady(terminal, { ...cluster, members: [member] }, { timeoutMs: options.timeoutMs, logFrom })
  }
  terminal.print(`restarted: ${namesInOrder(members)}`)
}

async function stop(terminal: Terminal, member: LocalMember, timeoutMs: number): Promise<void> {
  const state = processState(member)
  if (state.kind !== 'running') return terminal.note(`${member.name} was not running`)
  signalProcess(member, state.pid, 'SIGTERM')
  const left = await waitGone(terminal, [{ member, pid: state.pid }], timeoutMs)
  if (left.length > 0) {
    const remedy = 'wait for it, or orchctl cluster down --force'
    throw new CliFailure('failed', `${member.name} (pid ${state.pid}) does not end: ${remedy}`)
  }
}
