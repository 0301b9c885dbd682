import { afterEnd, waitGone, waitReady } from './cluster.ts'
import { CliError } from './errors.ts'
import { openCluster } from './local-cluster.ts'
import type { LocalCluster, LocalMember } from './local-cluster.ts'
import { logLength, processState, signalProcess, startProcess } from './process.ts'
import { namesInOrder } from './name-order.ts'
import type { Terminal } from './terminal.ts'

/**
 * Restarts a member, or all of them one after the other, each when the previous one is ready, so
 * that a cluster of three or more stays available. A stopped member is started; a member that was
 * removed from the cluster ends again by itself, which is not a failure.
 *
 * @param name null: all
 * @throws CliError `failed`
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
    throw new CliError(
      'failed',
      `${String(name)} is not a member of ${cluster.directory}: there are ${names}`,
    )
  }
  const restarted: LocalMember[] = []
  for (const [at, member] of members.entries()) {
    try {
      if (await restart(terminal, { ...cluster, members: [member] }, member, options.timeoutMs))
        restarted.push(member)
    } catch (cause) {
      const rest = members.slice(at + 1)
      if (!(cause instanceof CliError) || rest.length === 0) throw cause
      throw new CliError(cause.code, `${cause.message}\nnot restarted yet: ${namesInOrder(rest)}`)
    }
  }
  terminal.print(restarted.length === 0 ? 'restarted: none' : `restarted: ${namesInOrder(restarted)}`)
}

/** @returns whether it is still a member, and ready */
async function restart(
  terminal: Terminal,
  cluster: LocalCluster,
  member: LocalMember,
  timeoutMs: number,
): Promise<boolean> {
  await stop(terminal, member, timeoutMs)
  const logFrom = new Map([[member.name, logLength(member)]])
  const started = startProcess(member)
  terminal.note(`${member.name} started (pid ${started.pid}), clients on port ${member.clientPort}`)
  let isMember = true
  const onEnded = async (): Promise<'failed' | 'gone'> => {
    const after = await afterEnd(terminal, member, started)
    if (after === 'gone') isMember = false
    return after
  }
  await waitReady(terminal, cluster, { timeoutMs, logFrom, onEnded })
  return isMember
}

async function stop(terminal: Terminal, member: LocalMember, timeoutMs: number): Promise<void> {
  const state = processState(member)
  if (state.kind !== 'running') return terminal.note(`${member.name} was not running`)
  signalProcess(member, state.pid, 'SIGTERM')
  const left = await waitGone(terminal, [{ member, pid: state.pid }], timeoutMs)
  if (left.length > 0) {
    const remedy = 'wait for it, or orchctl cluster down --force'
    throw new CliError('failed', `${member.name} (pid ${state.pid}) does not end: ${remedy}`)
  }
}
