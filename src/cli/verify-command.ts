import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { durationMs, durationText } from '../config/flag.ts'
import { verifyDefaults } from '../../tools/verify/options.ts'
import { addEndpointOptions } from './endpoint-options.ts'
import type { Terminal } from './terminal.ts'
import { verify } from './verify.ts'
import type { VerifyFlags } from './verify.ts'

type Shared = { readonly kubeconfig: () => Option; readonly output: () => Option }

/** `orchctl verify` and its options. */
export function addVerify(
  program: Command,
  terminal: Terminal,
  result: { code: number },
  shared: Shared,
): void {
  const { durationMs: duration, clients, objects, rate, timeoutMs } = verifyDefaults
  const command = program
    .command('verify')
    .description('write, read, list and watch on every endpoint, and check all responses for consistency')
  addEndpointOptions(command, shared.kubeconfig)
  command
    .addOption(
      lasting('--duration <duration>', 'duration of the traffic, 1s to 24h', ms(1000, 86_400_000), duration),
    )
    .option('--clients <count>', 'concurrent clients, each with one call at a time', whole(1, 64), clients)
    .option(
      '--objects <count>',
      'objects that they share; fewer mean more conflicts',
      whole(1, 1000),
      objects,
    )
    .option('--rate <count>', 'calls per second, of all clients together', whole(1, 10_000), rate)
    .addOption(
      lasting('--timeout <duration>', 'time limit of one call, 100ms to 60s', ms(100, 60_000), timeoutMs),
    )
    .option('--seed <number>', 'repeat the same calls', whole(0, 2 ** 31 - 1))
    .option('--namespace <name>', 'namespace to use and keep (default: create one and remove it)')
    .option('--balanced', 'an endpoint is a load balancer in front of several servers')
  command
    .option('--save <file>', 'file to save the recording to')
    .option('--history <file>', 'check a saved recording instead of a cluster')
    .option('--faults <file>', 'faults to show on the page: JSON lines of {atMs, kind, target, endMs}')
    .option('--html <file>', 'write a page with a timeline')
    .addOption(shared.output())
    .addHelpText('after', teaching)
    .action(async (flags: VerifyFlags) => {
      result.code = await verify(terminal, flags)
    })
}

const teaching = `
What is checked:
  objects are linearizable       most recent reads and all writes of each object have one order that explains them
  revisions follow real time     across objects: no response is older than one that was returned before the request
  what is shown was written      one revision is one version; conditional writes replace what they name
  lists are the state            at their revision, in every mode; pages of one list are one state
  modes are kept                 exact is exact, not older is not older
  watches send every change      once, in order, across broken connections and members; bookmarks are correct
  reads on one connection        never go back, of any version
  members are equal in the end   byte for byte at one revision

The command uses only the standard API, so it works against any Kubernetes API server. It needs the permission to create and
delete a namespace (or --namespace), and to read and write ConfigMaps in it. The cluster may be broken in any way during the run: a call without a
response counts as one that may have happened, or may still happen. An interrupt (SIGINT, SIGTERM, SIGHUP) ends the traffic
and checks what there is; a second one ends the program and leaves its namespace behind.

Examples:
  orchctl verify                                     the members of .cluster, 30 seconds
  orchctl verify --duration 5m --rate 500 --html verify.html
  orchctl verify --endpoint https://a:6443 --endpoint https://b:6443 --ca ca.crt --token-file token
  orchctl verify --save run.jsonl; orchctl verify --history run.jsonl -o json

Exit codes: 0 consistent, 1 an anomaly, 2 the command line or a file is wrong, 3 undecided or too little recorded.`

function lasting(flags: string, words: string, parse: (text: string) => number, fallback: number): Option {
  return new Option(flags, words).argParser(parse).default(fallback, durationText(fallback))
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,10}$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

function ms(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = durationMs(text)
    if (value !== null && value >= min && value <= max) return value
    throw new InvalidArgumentError(
      `It must be a duration from ${durationText(min)} to ${durationText(max)}, such as 30s or 5m.`,
    )
  }
}
