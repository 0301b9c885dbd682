import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { CodedError } from '../../base/coded-error.ts'
import { faultKinds, parseKinds } from '../../tools/chaos/fault.ts'
import type { FaultKind } from '../../tools/chaos/fault.ts'
import { chaosLimits } from '../../tools/chaos/limits.ts'
import { durationMs, durationText } from '../config/flag.ts'
import { chaosLinks, chaosPlan, chaosRun } from './chaos.ts'
import type { ChaosFlags } from './chaos.ts'
import { exitCodes } from './errors.ts'
import type { Terminal } from './terminal.ts'

type Shared = { readonly directory: () => Option; readonly output: () => Option }

/** `orchctl chaos` and its options. */
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
  kill, stop, pause      SIGKILL, SIGTERM, SIGSTOP; started or continued later
  rolling-restart        one member after the other, waiting for each
  outage                 SIGKILL to all members at once
  partition, cut         no bytes between a minority and the rest; in one direction only
  slow-link, lossy-link  delayed bytes between a member and its peers; some as late as a TCP retransmission
  slow-disk, full-disk   each sync of the log takes longer; each write to a file fails with EFBIG
  clock-skew             the wall clock jumps by up to ten minutes
  demote, member-churn   a voter becomes a learner and votes again later; a new member joins, votes and is removed

No fault needs root. A full disk is a limit of the process, which needs prlimit (util-linux). Links, slow disks and clocks
need a cluster created with orchctl cluster up --chaos: its peers connect through one proxy each, which identifies callers
by /proc, and its members load a module that delays syncs of the log and changes the wall clock (not the files of LevelDB,
and not the clock of TLS).

Half of the faults of one member target the current leader. At most a minority of the members is affected at once (one member of
one or two); faults of all members, partitions and demotions run alone. The plan follows from seed, duration, faults and the
number of members. A fault that takes long to revert delays the later ones, and those that no longer fit into the duration are
skipped. A member that ends unexpectedly, or is not ready ${chaosLimits.readyMsMax / 1000} s after a fault, ends the run with exit code 1.

Only clusters under --dir are affected, and only processes that run with its configuration files. An interrupt (SIGINT,
SIGTERM, SIGHUP) reverts all faults first. If this program is killed, links recover and paused members continue by
themselves, and orchctl cluster up starts those that were down; an additional or demoted member stays.

Examples:
  orchctl cluster up --chaos
  orchctl chaos plan --seed 7 --duration 5m --faults kill,pause,partition
  orchctl chaos run --duration 1m --record faults.jsonl & orchctl verify --duration 70s --faults faults.jsonl --html page.html

Exit codes: 0 done and reverted, 1 interrupted or not reverted, 2 the command line is wrong.`

function kinds(text: string): readonly FaultKind[] {
  try {
    return parseKinds(text)
  } catch (cause) {
    if (cause instanceof CodedError) throw new InvalidArgumentError(cause.message)
    throw cause
  }
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,10}$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

function ms(text: string): number {
  const value = durationMs(text)
  const { durationMsMin, durationMsMax } = chaosLimits
  if (value !== null && value >= durationMsMin && value <= durationMsMax) return value
  throw new InvalidArgumentError('It must be a duration from 4s to 24h, such as 30s or 5m.')
}
