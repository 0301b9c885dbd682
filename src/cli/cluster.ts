import { resolve } from 'node:path'
import { removedExitCode } from '../membership/removal.ts'
import { fetchStatus } from './cluster-status.ts'
import type { MemberStatus } from './cluster-status.ts'
import { isRemoved, otherMembers, latestStatus } from './latest-status.ts'
import type { Listed } from './latest-status.ts'
import { CliError } from './errors.ts'
import { domainOf, findProcesses, openCluster, prepareCluster, presentMembers } from './local-cluster.ts'
import { staleDiscovery } from './kubectl-cache.ts'
import { checkPorts } from './port-check.ts'
import type { LocalCluster, LocalClusterOptions, LocalMember, MemberPlace } from './local-cluster.ts'
import { startLinks, stopLinks } from './local-links.ts'
import { call, readAllEndpoints } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { forgetProcess, logLength, logTail, processState, signalProcess, startProcess } from './process.ts'
import type { ProcessState, Started } from './process.ts'
import { isOnPath } from './on-path.ts'
import { prepareRestored } from './restore-local.ts'
import type { RestoreFrom } from './restore-local.ts'
import { shownPath } from './shown-path.ts'
import { formatTable, sleep } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

const pollMs = 100
/** A new cluster is ready soon. */
const readyPollMs = 50
const readyTimeoutMs = 2000
/** The exit code of a child process arrives shortly after its end. */
const exitCodeMsMax = 1000
/** Ms until the remaining members serve or end, after one has ended. */
const settleMsMax = 5000

/**
 * Creates and starts what is missing, waits until every member is ready, and prints the next steps.
 */
export async function clusterUp(
  terminal: Terminal,
  options: LocalClusterOptions & {
    readonly timeoutMs: number
    /** null: a new cluster is empty, an existing one unchanged. */
    readonly restore: RestoreFrom | null
  },
): Promise<void> {
  const { restore } = options
  const isNew = presentMembers(options.directory).length === 0
  await checkPorts(options)
  const cluster =
    restore === null ? prepareCluster(terminal, options) : await prepareRestored(terminal, options, restore)
  await startLinks(terminal, cluster.directory)
  // Output of a member that ends is read from here on.
  const logFrom = new Map(cluster.members.map((member) => [member.name, logLength(member)]))
  const started = new Map<string, Started>()
  const start = (member: LocalMember): void => {
    const begun = startProcess(member)
    started.set(member.name, begun)
    terminal.note(`${member.name} started (pid ${begun.pid}), clients on port ${member.clientPort}`)
  }
  for (const member of cluster.members) {
    const state = processState(member)
    if (state.kind === 'running') {
      terminal.note(`${member.name} is running already (pid ${state.pid})`)
      continue
    }
    if (state.kind === 'stale') terminal.note(`${member.name} had ended unexpectedly`)
    start(member)
  }
  const removed = new Set<string>()
  const onEnded = async (member: LocalMember): Promise<AfterEnd> => {
    const ours = started.get(member.name)
    if (ours === undefined) {
      // Its exit code is unknown, because it was started earlier.
      terminal.note(`${member.name} had ended unexpectedly`)
      start(member)
      return 'started-again'
    }
    const after = await afterEnd(terminal, member, ours)
    if (after === 'gone') removed.add(member.name)
    return after
  }
  await waitReady(terminal, cluster, { timeoutMs: options.timeoutMs, logFrom, onEnded })
  const members = cluster.members.filter(({ name }) => !removed.has(name))
  if (isNew) warnOfStaleCache(terminal, members)
  for (const line of nextSteps({ ...cluster, members }, terminal.program)) terminal.print(line)
}

/** kubectl caches discovery for hours: it may remember a former cluster at this address. */
function warnOfStaleCache(terminal: Terminal, members: readonly LocalMember[]): void {
  const stale = members.flatMap((member) => staleDiscovery(member.clientPort, String(domainOf(member))))
  if (stale.length === 0) return
  terminal.note(
    'kubectl caches kinds of another API domain at these addresses and would not find those of this',
  )
  terminal.note(`cluster; clear its cache: rm -r ${stale.join(' ')}`)
}

/** @returns null: ended by a signal, or unknown */
function exitCodeOf({ clock }: Terminal, { ended: code }: Started): Promise<number | null> {
  return Promise.race([code, sleep(clock, exitCodeMsMax).then(() => null)])
}

/** Result for a member that ended. `gone`: do not wait for it. */
type AfterEnd = 'failed' | 'gone' | 'started-again'

/** Handles the end of a started member: removal from the cluster is not a failure. */
export async function afterEnd(
  terminal: Terminal,
  member: LocalMember,
  started: Started,
): Promise<'failed' | 'gone'> {
  if ((await exitCodeOf(terminal, started)) !== removedExitCode) return 'failed'
  forgetProcess(member)
  const remedy = `orchctl cluster remove ${member.name} removes its data from this machine`
  terminal.note(`${member.name} is no longer a member: ${remedy}`)
  return 'gone'
}

/**
 * Waits for all of `cluster.members`.
 *
 * @throws CliError `failed` with the members that are not ready, and the reasons
 */
export async function waitReady(
  terminal: Terminal,
  cluster: LocalCluster,
  options: {
    readonly timeoutMs: number
    readonly logFrom: ReadonlyMap<string, number>
    /** Endpoints of members that the kubeconfig does not have yet. */
    readonly urls?: ReadonlyMap<string, string>
    /** Called when a member ends; unset: it is a failure. */
    readonly onEnded?: (member: LocalMember) => Promise<AfterEnd>
  },
): Promise<void> {
  const { timeoutMs, logFrom, onEnded, urls = new Map<string, string>() } = options
  const endMs = terminal.clock.monotonicMs() + timeoutMs
  const waiting = new Map(cluster.members.map((member) => [member.name, member]))
  const known = readAllEndpoints(cluster.kubeconfigPath)
  const endpoints = [...known, ...endpointsAt(urls, known)]
  while (waiting.size > 0) {
    for (const member of waiting.values()) {
      if (processState(member).kind !== 'running') {
        const next = (await onEnded?.(member)) ?? 'failed'
        if (next === 'failed') {
          await untilSettled(terminal, waiting, endpoints)
          throw ended(cluster, member, logFrom.get(member.name) ?? 0)
        }
        if (next === 'gone') waiting.delete(member.name)
        continue
      }
      // A removed member has no context any more; it will notice its removal and end.
      const endpoint = endpoints.find(({ name }) => name === member.name)
      if (endpoint === undefined) continue
      const reply = await call(endpoint, { method: 'GET', path: '/readyz' }, readyTimeoutMs)
      if (reply?.status !== 200) continue
      waiting.delete(member.name)
      terminal.note(`${member.name} is ready`)
    }
    if (waiting.size === 0) return
    if (terminal.clock.monotonicMs() > endMs) throw await late(waiting, endpoints, timeoutMs)
    await sleep(terminal.clock, readyPollMs)
  }
}

/**
 * Waits until each remaining member serves or has ended, because the cause that ended one member
 * may soon end others.
 */
async function untilSettled(
  terminal: Terminal,
  waiting: ReadonlyMap<string, LocalMember>,
  endpoints: readonly Endpoint[],
): Promise<void> {
  const endMs = terminal.clock.monotonicMs() + settleMsMax
  const unsettled = new Set(waiting.values())
  while (unsettled.size > 0 && terminal.clock.monotonicMs() < endMs) {
    for (const member of unsettled) {
      const endpoint = endpoints.find(({ name }) => name === member.name)
      const serves =
        endpoint !== undefined &&
        (await call(endpoint, { method: 'GET', path: '/livez' }, readyTimeoutMs)) !== null
      if (serves || processState(member).kind !== 'running') unsettled.delete(member)
    }
    if (unsettled.size > 0) await sleep(terminal.clock, pollMs)
  }
}

function ended(cluster: LocalCluster, member: LocalMember, logFrom: number): CliError {
  const lines = logTail(member, logFrom, 5)
  const others = cluster.members.filter((other) => processState(other).kind === 'running')
  const names = others.map(({ name }) => name).join(', ')
  const rest = others.length === 0 ? [] : [`still running: ${names}; orchctl cluster down stops them`]
  return new CliError(
    'failed',
    [`${member.name} ended; the end of ${member.logPath}:`, ...lines, ...rest].join('\n  '),
  )
}

async function late(
  waiting: ReadonlyMap<string, LocalMember>,
  endpoints: readonly Endpoint[],
  timeoutMs: number,
): Promise<CliError> {
  const lines: string[] = []
  for (const member of waiting.values()) {
    const what = { method: 'GET', path: '/readyz?verbose' } as const
    const endpoint = endpoints.find(({ name }) => name === member.name)
    if (endpoint === undefined) {
      lines.push(`${member.name}: the kubeconfig has no context of that name`)
      continue
    }
    const reply = await call(endpoint, what, readyTimeoutMs)
    const failing = (reply?.body ?? '').split('\n').filter((line) => line.startsWith('[-]'))
    lines.push(`${member.name}: ${failing.join(' ') || 'no answer'} (see ${member.logPath})`)
  }
  return new CliError('failed', `not ready after ${timeoutMs / 1000} s:\n  ${lines.join('\n  ')}`)
}

/** Stops all members and waits. @throws CliError `failed` with those that are still running */
export async function clusterDown(
  terminal: Terminal,
  options: { readonly directory: string; readonly timeoutMs: number; readonly force: boolean },
): Promise<void> {
  const members = findProcesses(options.directory)
  const stopping: { readonly member: MemberPlace; readonly pid: number }[] = []
  for (const member of members) {
    const state = processState(member)
    if (state.kind === 'running') {
      signalProcess(member, state.pid, 'SIGTERM')
      stopping.push({ member, pid: state.pid })
    } else {
      forgetProcess(member)
    }
  }
  const left = await waitGone(terminal, stopping, options.timeoutMs)
  if (left.length > 0 && options.force) {
    for (const { member, pid } of left) signalProcess(member, pid, 'SIGKILL')
    await waitGone(terminal, left, options.timeoutMs)
    await stopLinks(terminal, resolve(options.directory))
    terminal.print(`killed: ${left.map(({ member }) => member.name).join(', ')}`)
    return
  }
  if (left.length > 0) {
    const names = left.map(({ member, pid }) => `${member.name} (pid ${pid})`).join(', ')
    throw new CliError('failed', `still running: ${names}; use --force to SIGKILL them`)
  }
  await stopLinks(terminal, resolve(options.directory))
  terminal.print(stopping.length === 0 ? 'nothing was running' : `${stopping.length} stopped`)
}

/** @returns the members that are still running */
export async function waitGone(
  terminal: Terminal,
  processes: readonly { readonly member: MemberPlace; readonly pid: number }[],
  timeoutMs: number,
): Promise<readonly { readonly member: MemberPlace; readonly pid: number }[]> {
  const endMs = terminal.clock.monotonicMs() + timeoutMs
  let left = processes
  for (;;) {
    left = left.filter(({ member }) => {
      if (processState(member).kind === 'running') return true
      forgetProcess(member)
      terminal.note(`${member.name} stopped`)
      return false
    })
    if (left.length === 0 || terminal.clock.monotonicMs() > endMs) return left
    await sleep(terminal.clock, pollMs)
  }
}

type Row = {
  readonly name: string
  readonly pid: number | null
  /**
   * `removed`: its directory is here and it does not run, and the cluster has no such member.
   * `elsewhere`: a member of the cluster without a directory here.
   */
  readonly process: ProcessState['kind'] | 'removed' | 'elsewhere'
  /** null: no response */
  readonly status: MemberStatus | null
}

/** Prints one row per member and per directory. @returns whether all members are ready */
export async function clusterStatus(terminal: Terminal, directory: string, format: Format): Promise<boolean> {
  const rows = await statusRows(openCluster(directory))
  if (format === 'json') {
    terminal.print(JSON.stringify(rows, null, 2))
  } else {
    const heading = ['MEMBER', 'PID', 'ROLE', 'TERM', 'LEADER', 'APPLIED', 'READY']
    const cells = rows.map(({ name, pid, process, status }) => [
      name,
      pid === null ? process : String(pid),
      status?.role ?? '-',
      status === null ? '-' : String(status.term),
      status?.leader ?? '-',
      status === null ? '-' : String(status.appliedMemory),
      status?.ready === true ? 'yes' : 'no',
    ])
    for (const line of formatTable([heading, ...cells])) terminal.print(line)
  }
  return rows.every(({ process, status }) => process === 'removed' || status?.ready === true)
}

async function statusRows(cluster: LocalCluster): Promise<readonly Row[]> {
  const endpoints = readAllEndpoints(cluster.kubeconfigPath)
  const here = await Promise.all(
    cluster.members.map(async (member) => {
      const state = processState(member)
      const status = await statusOrNull(endpoints.find(({ name }) => name === member.name))
      return { name: member.name, state, status }
    }),
  )
  const latest = latestStatus(here.map(({ status }) => status))
  const rows = here.map(({ name, state, status }): Row => {
    if (state.kind === 'running') return { name, pid: state.pid, process: state.kind, status }
    return { name, pid: null, process: isRemoved(latest, name) ? 'removed' : state.kind, status }
  })
  const names = cluster.members.map(({ name }) => name)
  const others = otherMembers(latest, names).map(async (member): Promise<Row> => {
    const status = await statusOrNull(endpointElsewhere(endpoints, member))
    return { name: member.name, pid: null, process: 'elsewhere', status }
  })
  return [...rows, ...(await Promise.all(others))]
}

/** All members accept the same credentials. */
function endpointsAt(urls: ReadonlyMap<string, string>, [any]: readonly Endpoint[]): readonly Endpoint[] {
  return any === undefined ? [] : [...urls].map(([name, url]) => ({ ...any, name, url }))
}

function endpointElsewhere(
  endpoints: readonly Endpoint[],
  { name, clientAddress }: Listed,
): Endpoint | undefined {
  const [any] = endpoints
  return any === undefined || clientAddress === ''
    ? undefined
    : { ...any, name, url: `https://${clientAddress}` }
}

async function statusOrNull(endpoint: Endpoint | undefined): Promise<MemberStatus | null> {
  if (endpoint === undefined) return null
  try {
    return await fetchStatus(endpoint)
  } catch (cause) {
    if (cause instanceof CliError) return null
    throw cause
  }
}

function nextSteps(cluster: LocalCluster, program: string): readonly string[] {
  const here = process.cwd()
  const [kubeconfig, directory] = [
    shownPath(cluster.kubeconfigPath, here),
    shownPath(cluster.directory, here),
  ]
  const [first] = cluster.members
  const last = cluster.members.at(-1)
  const flag = directory === '.cluster' ? '' : ` --dir ${directory}`
  const domain = first === undefined ? '' : String(domainOf(first))
  const heading = `${cluster.members.length} member(s) ready, API domain ${domain}. Next:`
  const leader = `  ${program} member transfer-leader --kubeconfig ${kubeconfig}`
  const steps = !isOnPath('kubectl')
    ? [
        `  curl --cacert ${directory}/pki/ca.crt --cert ${directory}/pki/admin.crt --key ${directory}/pki/admin.key \\`,
        `    https://127.0.0.1:${first?.clientPort ?? 0}/api/v1/namespaces`,
      ]
    : [
        `  export KUBECONFIG=${cluster.kubeconfigPath}`,
        '  kubectl api-resources',
        '  kubectl get namespaces',
        `  kubectl --context ${last?.name ?? 'n1'} get configmaps --all-namespaces --watch`,
      ]
  return [heading, ...steps, `  ${program} cluster status${flag}`, leader, `  ${program} cluster down${flag}`]
}
