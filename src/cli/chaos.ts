import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { describeFault, faultKinds } from '../../tools/chaos/fault.ts'
import type { FaultKind } from '../../tools/chaos/fault.ts'
import { serveLinks } from '../../tools/chaos/links/links.ts'
import { chaosLimits } from '../../tools/chaos/limits.ts'
import { isPossible, planChaos } from '../../tools/chaos/plan.ts'
import { runChaos } from '../../tools/chaos/run.ts'
import type { CompletedFault } from '../../tools/chaos/run.ts'
import { durationText } from '../config/flag.ts'
import { CliError } from './errors.ts'
import { onInterrupt } from './interrupts.ts'
import { openCluster } from './local-cluster.ts'
import { LocalTarget, unsupportedReason } from './local-target.ts'
import { formatTable, sleep } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

export type ChaosFlags = {
  readonly dir: string
  readonly duration: number
  /** Unset: all that are possible. */
  readonly faults?: readonly FaultKind[]
  readonly seed?: number
  readonly output: Format
}

const defaultNodes = 3
const readyAgainMs = 200

/** Prints the plan of `run`. @throws ChaosError `no-plan`; CliError `failed` */
export function chaosPlan(terminal: Terminal, flags: ChaosFlags & { readonly nodes?: number }): void {
  const { dir, nodes, duration, output } = flags
  const hasCluster = nodes === undefined && existsSync(join(resolve(dir), 'n1'))
  const count = nodes ?? defaultNodes
  const members = hasCluster
    ? openCluster(dir).members.map(({ name }) => name)
    : Array.from({ length: count }, (_, at) => `n${at + 1}`)
  const kinds = flags.faults ?? possible(members.length)
  const seed = flags.seed ?? terminal.random.below(2 ** 31)
  const plan = planChaos({ seed, durationMs: duration, members, kinds })
  if (output === 'json') {
    const faults = plan.map(({ atMs, forMs, target, lane, spec }) => {
      return { atMs, forMs, target, lane, fault: spec }
    })
    terminal.print(JSON.stringify({ seed, durationMs: duration, members, faults }, null, 2))
    return
  }
  const rows = plan.map((fault) => [
    seconds(fault.atMs),
    seconds(fault.forMs),
    fault.lane === null ? 'alone' : String(fault.lane + 1),
    fault.target,
    describeFault(fault.spec),
  ])
  for (const line of formatTable([['AT', 'FOR', 'LANE', 'TARGET', 'FAULT'], ...rows])) terminal.print(line)
  terminal.note(`run it: ${again(terminal, { seed, duration, kinds, dir })}`)
}

/**
 * Runs the plan and reverts all faults, also after an interrupt.
 *
 * @returns false when it was interrupted
 * @throws ChaosError; CliError `failed` when there is no cluster, or it does not support a
 * fault
 */
export async function chaosRun(
  terminal: Terminal,
  flags: ChaosFlags & { readonly record?: string },
): Promise<boolean> {
  const { dir, duration, output, record } = flags
  const { clock } = terminal
  const cluster = openCluster(dir)
  const kinds = flags.faults ?? possible(cluster.members.length)
  const lacking = kinds.map((kind) => unsupportedReason(cluster, kind)).filter((why) => why !== null)
  const [first] = lacking
  if (first !== undefined && flags.faults !== undefined) throw new CliError('failed', first)
  for (const why of lacking) terminal.note(`skipped: ${why}`)
  const had = kinds.filter((kind) => unsupportedReason(cluster, kind) === null)
  const seed = flags.seed ?? terminal.random.below(2 ** 31)
  const members = cluster.members.map(({ name }) => name)
  const plan = planChaos({ seed, durationMs: duration, members, kinds: had })
  if (record !== undefined) writeFileSync(record, '')

  const target = await LocalTarget.open(cluster, terminal)
  const stop = new AbortController()
  // The first interrupt reverts all faults. The second ends the program; the processes that hold
  // links and pauses notice that and revert them.
  const ended = onInterrupt(clock, () => {
    terminal.note('reverting all faults')
    stop.abort()
  })
  const startedMs = clock.wallMs()
  try {
    await allReady(target, clock, stop.signal)
    terminal.note(
      `${plan.length} faults, seed ${seed}: ${again(terminal, { seed, duration, kinds: had, dir })}`,
    )
    await runChaos({
      ...{ plan, target, clock, durationMs: duration, signal: stop.signal },
      onBegin: (fault, what) =>
        terminal.note(
          `${seconds(clock.wallMs() - startedMs)} ${what.target}: ${what.kind}, ${seconds(fault.forMs)}`,
        ),
      onDone: (done) => {
        if (record !== undefined) appendFileSync(record, `${lineOf(done)}\n`)
        terminal.print(output === 'json' ? lineOf(done) : textOf(done, startedMs))
      },
    })
  } finally {
    ended()
    target.close()
  }
  terminal.note('all members are ready and all links are restored')
  return !stop.signal.aborted
}

/** Runs the proxies of a cluster until a signal; `orchctl cluster up` starts it. */
export async function chaosLinks(terminal: Terminal, dir: string): Promise<void> {
  const links = await serveLinks(resolve(dir), terminal)
  await new Promise<void>((end) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end())
  })
  await links.close()
}

/**
 * Requires that all members are ready: earlier problems would look like effects of faults.
 *
 * @throws CliError `failed`
 */
async function allReady(target: LocalTarget, clock: Clock, signal: AbortSignal): Promise<void> {
  const endMs = clock.monotonicMs() + chaosLimits.beginMsMax
  for (;;) {
    const ready = await Promise.all(target.members.map((member) => target.isReady(member)))
    const not = target.members.filter((_, at) => ready[at] === false)
    if (not.length === 0 || signal.aborted) return
    // Waiting does not help for a member that is not running.
    const down = not.filter((member) => !target.isRunning(member))
    if (down.length > 0)
      throw new CliError('failed', `${down.join(', ')} not running: orchctl cluster up first`)
    if (clock.monotonicMs() >= endMs) {
      const late = `${not.join(', ')} not ready after ${chaosLimits.beginMsMax / 1000} s`
      throw new CliError('failed', `${late}: see orchctl cluster status, and try again when all are`)
    }
    await sleep(clock, readyAgainMs)
  }
}

function possible(members: number): readonly FaultKind[] {
  return faultKinds.filter((kind) => isPossible(kind, members))
}

/** The format that `orchctl verify --faults` reads. */
function lineOf({ kind, target, atMs, endMs, readyMs }: CompletedFault): string {
  return JSON.stringify({ atMs, kind, target, endMs, readyMs })
}

function textOf({ kind, target, atMs, endMs, readyMs }: CompletedFault, startedMs: number): string {
  const ready = readyMs === null ? 'interrupted' : `ready after ${seconds(readyMs)} more`
  return `${seconds(atMs - startedMs)} ${target}: ${kind}, was ${seconds(endMs - atMs)}, ${ready}`
}

function again(
  terminal: Terminal,
  what: {
    readonly seed: number
    readonly duration: number
    readonly kinds: readonly FaultKind[]
    readonly dir: string
  },
): string {
  const { seed, duration, kinds, dir } = what
  const where = dir === '.cluster' ? '' : ` --dir ${dir}`
  const flags = `--seed ${seed} --duration ${durationText(duration)} --faults ${kinds.join(',')}${where}`
  return `${terminal.program} chaos run ${flags}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
