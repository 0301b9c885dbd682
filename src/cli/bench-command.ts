import { availableParallelism } from 'node:os'
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { benchLimits } from '../../bench/tool/limits.ts'
import { httpVersions, workloads } from '../../bench/tool/load.ts'
import type { HttpVersion, Workload } from '../../bench/tool/load.ts'
import { benchDefaults } from '../../bench/tool/options.ts'
import { quickSelection, wholeSelection } from '../../bench/tool/plan.ts'
import { bench } from './bench.ts'
import type { BenchFlags } from './bench.ts'
import { addEndpointOptions } from './endpoint-options.ts'
import type { Terminal } from './terminal.ts'

type Shared = { readonly kubeconfig: () => Option; readonly directory: () => Option }

/** `orchctl bench` and its options. */
export function addBench(
  program: Command,
  terminal: Terminal,
  result: { code: number },
  shared: Shared,
): void {
  const command = program
    .command('bench')
    .description('measure reads, writes, lists, watches, and unavailability after a leader failure')
  addEndpointOptions(command, shared.kubeconfig)
  command
    .addOption(shared.directory())
    .option(
      '-y, --yes',
      'do not ask before loading servers that orchctl cluster up did not start under --dir',
    )
    .option('--only <list>', `some of ${workloads.join(', ')}, separated by commas`, someWorkloads)
    .option('--quick', 'a short run of a minute or two, not for figures to quote')
    .option('--seconds <count>', `duration of each load (${fallback('seconds')})`, whole(1, 3600))
    .option(
      '--rounds <count>',
      `repetitions of all loads; the median counts (${fallback('rounds')})`,
      whole(1, 100),
    )
    .option(
      '--http <list>',
      `HTTP versions of calls (default: 1.1; possible: ${httpVersions.join(', ')})`,
      someVersions,
    )
    .option('--clients <list>', `concurrent clients (${listed('clients')})`, wholes(1, 4096))
    .option('--sizes <list>', `payload of an object in bytes (${listed('sizes')})`, wholes(1, 1_000_000))
    .option('--lists <list>', `lengths of the lists in objects (${listed('lists')})`, wholes(1, 200_000))
    .option('--page <count>', `objects per page (default: ${wholeSelection.page})`, whole(1, 10_000))
    .option(
      '--watchers <list>',
      `watchers; measured without slow ones, and with one in ten slow (${listed('watchers')})`,
      wholes(1, 20_000),
    )
    .option(
      '--bounds <list>',
      `bounds of bounded reads in ms; gets use the first (${listed('bounds')})`,
      wholes(1, 60_000),
    )
    .option(
      '--threads <count>',
      `threads of the load generator (default: one per processor, at most ${benchLimits.threadsMax})`,
      whole(1, benchLimits.threadsMax),
    )
  command
    .option('--json <file>', 'write all figures of all rounds')
    .option('--html <file>', 'write a page with plots')
    .option('--compare <files...>', 'compare two files of --json: ratios of the second to the first')
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'json', 'markdown'])
        .default('table'),
    )
    .addHelpText('after', teaching)
    .action(async (flags: BenchFlags) => {
      result.code = await bench(terminal, flags, Math.min(availableParallelism(), benchLimits.threadsMax))
    })
}

const teaching = `
What is measured:
  livez        a trivial response: the rate and the CPU cost of the load generator itself
  get, list    in every consistency mode that the servers offer (Orch-Consistency; elsewhere most recent and any, by
               resourceVersion), on the leader and on a follower, lists also in pages
  create,      of ConfigMaps; an acknowledged write is as durable as the servers make it
  update,
  patch        a merge patch of one member
  apply        a server-side apply of the whole object, with force
  watch        delay from sending a write to reading its event, with and without slow readers; lost events
  staleness    how long a newer version had been acknowledged when a read began, against the requested bound
  failover     unavailability of writes and of most recent reads after the leader was killed, paused or stopped;
               only for a cluster that orchctl cluster up created

With --http 2 each client has its own connection with one stream at a time, over https. Watches, staleness and
failover always use HTTP/1.1.

Each client sends its next request as soon as it has the response to the last one; a latency is the time from a
request to its response. CPU per operation is measured where the servers are processes of this machine, separately for
the generator; (!) marks what the generator may have limited.

The command needs the permission to create namespaces. It creates its own (bench-...) and removes them, also when it is
interrupted: the first interrupt ends the measurement and prints what there is, the second ends the program. Servers
that are not those of --dir are only loaded with --yes, or after a question.

Examples:
  orchctl cluster up; orchctl bench --quick
  orchctl bench --only get,create --clients 1,16,64 --html bench.html --json a.json
  orchctl bench --endpoint https://a:6443 --endpoint https://b:6443 --ca ca.crt --token-file token --yes
  orchctl bench --compare a.json b.json

Exit codes: 0 done, 1 failed or interrupted, 2 the command line is wrong.`

function fallback(name: 'seconds' | 'rounds'): string {
  return `default: ${benchDefaults.whole[name]}; quick: ${benchDefaults.quick[name]}`
}

function listed(name: 'clients' | 'sizes' | 'lists' | 'watchers' | 'bounds'): string {
  return `default: ${wholeSelection[name].join(',')}; quick: ${quickSelection[name].join(',')}`
}

function someWorkloads(text: string): readonly Workload[] {
  const known: ReadonlyMap<string, Workload> = new Map(workloads.map((one) => [one, one]))
  return text.split(',').map((word) => {
    const found = known.get(word.trim())
    if (found !== undefined) return found
    throw new InvalidArgumentError(`There is no workload "${word}": there are ${workloads.join(', ')}.`)
  })
}

function someVersions(text: string): readonly HttpVersion[] {
  return text.split(',').map((word) => {
    const found = httpVersions.find((one) => one === word.trim())
    if (found !== undefined) return found
    throw new InvalidArgumentError(`It must be one of ${httpVersions.join(', ')}, or both.`)
  })
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d{1,10}$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

/** In the given order, without duplicates. */
function wholes(min: number, max: number): (text: string) => readonly number[] {
  const one = whole(min, max)
  return (text) => [...new Set(text.split(',').map((word) => one(word.trim())))]
}
