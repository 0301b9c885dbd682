import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { clusterAdd, clusterRemove } from './cluster-members.ts'
import { clusterRestart } from './cluster-restart.ts'
import type { Terminal } from './terminal.ts'

/** Commands that add, restart and remove members of a cluster on this machine. */
export function addClusterMembers(cluster: Command, terminal: Terminal, directory: () => Option): void {
  type Flags = { readonly dir: string; readonly timeout: number; readonly role: 'voter' | 'learner' }
  cluster
    .command('add')
    .description(
      'add a member: create its keys, configuration and token, start it, and wait until it is ready and votes, unless it is a learner',
    )
    .argument('[name]', 'a name such as n4; unset: the first that is free')
    .addOption(
      new Option(
        '--role <role>',
        'learner: does not vote until it is promoted; voter: votes once it has caught up',
      )
        .choices(['voter', 'learner'])
        .default('voter'),
    )
    .addOption(directory())
    .addOption(timeoutOption())
    .action((name: string | undefined, { dir, timeout, role }: Flags) =>
      clusterAdd(terminal, name ?? null, { directory: dir, role, timeoutMs: timeout * 1000 }),
    )
  cluster
    .command('restart')
    .description('restart one member, or all one after the other, and wait until each is ready')
    .argument('[member]', 'name of the member; unset: all members')
    .addOption(directory())
    .addOption(timeoutOption())
    .action((name: string | undefined, { dir, timeout }: Flags) =>
      clusterRestart(terminal, name ?? null, { directory: dir, timeoutMs: timeout * 1000 }),
    )
  cluster
    .command('remove')
    .description('remove a member, and its data and configuration from this machine')
    .argument('<name>', 'name of the member')
    .addOption(directory())
    .addOption(timeoutOption())
    .action((name: string, { dir, timeout }: Flags) =>
      clusterRemove(terminal, name, { directory: dir, timeoutMs: timeout * 1000 }),
    )
}

function timeoutOption(): Option {
  return new Option('--timeout <seconds>', 'how long to wait').default(60).argParser((text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= 1 && value <= 3600) return value
    throw new InvalidArgumentError('It must be a whole number from 1 to 3600.')
  })
}
