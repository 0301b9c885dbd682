import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { Failure } from '../../raft/base/failure.ts'
import { faultKinds, parseKinds } from '../chaos/fault.ts'
import type { FaultKind } from '../chaos/fault.ts'
import { chaosLimits } from '../chaos/limits.ts'
import { durationMs, durationText } from '../config/flag.ts'
import { chaosLinks, chaosPlan, chaosRun } from './chaos.ts'
import type { ChaosFlags } from './chaos.ts'
import { exitCodes } from './errors.ts'
import type { Terminal } from './terminal.ts'

type Shared = { readonly directory: () => Option; readonly output: () => Option }

/** `orchctl chaos` and all that it understands. */
export function addChaos(
  program: Command,
  terminal: Terminal,
  result: { code: number },
  shared: Shared,
): void {
  const chaos = program
    .command('chaos')
    .description('inject faults into a cluster on this machine, by a plan that a seed repeats')
    .addHelpText('after', teaching)
  withPlan(chaos.command('plan').description('print the plan'), shared)
    .option('--nodes <count>', 'members to plan for (default: those of --dir, or 3)', whole(1, 9))
    .action((flags: ChaosFlags & { readonly nodes?: number }) => chaosPlan(terminal, flags))
  withPlan(chaos.command('run').description('run the plan, and revert all faults at the end'), shared)
    .option('--record <file>', 'write the injected faults as JSON lines, for orchctl verify --faults')
    .action(async (flags: ChaosFlags & { readonly record?: string }) => {
      if (!(await chaosRun(terminal, flags))) result.code = exitCodes.failed
    })
  chaos
    .command('links', { hidden: true })
    .description('serve the proxies between peers; orchctl cluster up starts this')
    .addOption(shared.directory())
    .action((flags: { readonly dir: string }) => chaosLinks(terminal, flags.dir))
}

function withPlan(command: Command, { directory, output }: Shared): Command {
  return command
    .addOption(directory())
    .addOption(
      new Option('--duration <duration>', 'run time, 4s to 24h (at least 20s guarantees a fault)')
        .argParser(ms)
        .default(60_000, durationText(60_000)),
    )
    .option('--faults <list>', 'faults, separated by commas (default: all that are possible here)', kinds)
    .option('--seed <number>', 'repeat the same plan', whole(0, 2 ** 31 - 1))
    .addOption(output())
}

const teaching = `
Faults (${faultKinds.join(', ')}):
  kill, stop, pause      SIGKILL, SIGTERM, SIGSTOP; started, or continued, later
  rolling-restart        one member after another, each awaited
  outage                 SIGKILL to all at once
  partition, cut         no byte passes between a minority and the rest; one way only
  slow-link, lossy-link  bytes between a member and its peers are late; some as late as if TCP had to send them again
  slow-disk, full-disk   each sync of the log takes longer; each write to a file fails for want of room
  clock-skew             the wall clock jumps by up to ten minutes
  demote, member-churn   a voter becomes a learner, and votes again later; one more member joins, votes and is removed

Nothing needs root. A full disk is a limit of the process, which needs prlimit (util-linux). Links, slow disks and clocks need a cluster made
for it, orchctl cluster up --chaos: its peers talk through a proxy each, which knows from /proc who calls, and its members load a
module that harms the log’s syncs and the wall clock from within (not LevelDB’s own files, and not the clock of TLS).

Half of the faults are for whoever leads at that time. As many members are harmed at once as the others can do without, in lanes; faults of
all members, and partitions, come alone. The plan follows from seed, duration, faults and the number of members; what heals slowly moves
what comes later, and what then no longer fits into the duration is left out. A member that ends though nobody ended it, or is not ready
${chaosLimits.readyMsMax / 1000} s after a fault, ends the run with exit code 1.

Only clusters under --dir are harmed, and only processes that run with its configuration files. An interrupt (SIGINT,
SIGTERM, SIGHUP) heals first. Should this program be killed, links heal and paused members go on by themselves; orchctl cluster
up starts those that were down; a member more, or a demoted one, stays so.

Examples:
  orchctl cluster up --chaos
  orchctl chaos plan --seed 7 --duration 5m --faults kill,pause,partition
  orchctl chaos run --duration 1m --record faults.jsonl & orchctl verify --duration 70s --faults faults.jsonl --html page.html

Exit codes: 0 done and healed, 1 interrupted or not healed, 2 not understood.`

function kinds(text: string): readonly FaultKind[] {
  try {
    return parseKinds(text)
  } catch (cause) {
    if (cause instanceof Failure) throw new InvalidArgumentError(cause.message)
    throw cause
  }
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,10}$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It is a whole number from ${min} to ${max}.`)
  }
}

function ms(text: string): number {
  const value = durationMs(text)
  const { durationMsMin, durationMsMax } = chaosLimits
  if (value !== null && value >= durationMsMin && value <= durationMsMax) return value
  throw new InvalidArgumentError('It is a duration from 4s to 24h, such as 30s or 5m.')
}
