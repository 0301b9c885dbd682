import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { memberAdd, memberReplace } from './member-add.ts'
import type { AddFlags, ReplaceFlags } from './member-add.ts'
import { memberDemote, memberMove, memberPromote, memberRemove } from './member-change.ts'
import type { ChangeFlags, MoveFlags } from './member-change.ts'
import { memberRepair } from './member-repair.ts'
import type { RepairFlags } from './member-repair.ts'
import { memberList, transferLeader } from './member.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import type { Format, Terminal } from './terminal.ts'

export function addMember(program: Command, terminal: Terminal, shared: SharedOptions): void {
  const member = program.command('member').description('members of a cluster, wherever it runs')
  type Options = { readonly kubeconfig: string; readonly output: Format }
  member
    .command('list')
    .description('list the members with role, readiness and lag')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((options: Options) => memberList(terminal, options.kubeconfig, options.output))
  addComing(member, terminal, shared)
  addChanges(member, terminal, shared)
  addRepair(member, terminal, shared)
  member
    .command('transfer-leader')
    .description('make another member the leader')
    .argument('[name]', 'new leader; unset: the most up-to-date voter')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((name: string | undefined, options: Options) =>
      transferLeader(terminal, options.kubeconfig, name ?? null, options.output),
    )
}

function addComing(member: Command, terminal: Terminal, shared: SharedOptions): void {
  const add = member
    .command('add')
    .description(
      'create a join token for a new member, valid for an hour, and print the command for its machine',
    )
    .argument('<name>', 'name of the new member: a DNS label')
    .addOption(
      new Option(
        '--role <role>',
        'learner: does not vote until it is promoted; voter: votes once it has caught up',
      )
        .choices(['voter', 'learner'])
        .default('voter'),
    )
    .option('--replaces <name>', 'voter that is removed in the change that makes the new member a voter')
    .option('--wait', 'wait until it has joined and caught up', false)
  withMemberOptions(add, shared).action((name: string, flags: AddFlags) => memberAdd(terminal, name, flags))
  const replace = member
    .command('replace')
    .description(
      'replace a voter, dead or alive, with a member on another machine, and wait until that votes',
    )
    .argument('<old>', 'member to remove')
    .argument('<new>', 'new member, under another name')
    .option('--no-wait', 'only create the token')
  withMemberOptions(replace, shared).action((old: string, next: string, flags: ReplaceFlags) =>
    memberReplace(terminal, { old, next }, flags),
  )
}

function withMemberOptions(command: Command, shared: SharedOptions): Command {
  return command
    .requiredOption('--peer-address <host:port>', 'address that the other members connect to')
    .requiredOption('--client-address <host:port>', 'address that clients connect to')
    .option(
      '--pki <dir>',
      'directory of the keys of the cluster: create those of the new member there, and its context in the kubeconfig',
    )
    .addOption(timeoutOption())
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
}

function addChanges(member: Command, terminal: Terminal, shared: SharedOptions): void {
  for (const [name, words, act] of [
    ['promote', 'make a learner a voter once it has caught up', memberPromote],
    ['demote', 'make a voter a learner, which is not promoted again by itself', memberDemote],
    ['remove', 'remove a member permanently; a leader transfers leadership first', memberRemove],
  ] as const) {
    changing(member.command(name).description(words), shared).action((who: string, flags: ChangeFlags) =>
      act(terminal, who, flags),
    )
  }
  changing(member.command('move').description('change the addresses of a member'), shared)
    .option('--peer-address <host:port>', 'address that the other members connect to')
    .option('--client-address <host:port>', 'address that clients connect to')
    .action((who: string, flags: MoveFlags) => memberMove(terminal, who, flags))
}

function addRepair(member: Command, terminal: Terminal, shared: SharedOptions): void {
  const words =
    'replace the diverged state of a member by the leader’s. Find out first which state is right ' +
    '(docs/operations/repair.md): the state of this member is quarantined, then removed'
  changing(member.command('repair').description(words), shared)
    .option('--from <name>', 'member whose state is right: it is trusted and made the leader first')
    .action((who: string, flags: RepairFlags) => memberRepair(terminal, who, flags))
}

function changing(command: Command, shared: SharedOptions): Command {
  return command
    .argument('<name>', 'name of the member')
    .option('--no-wait', 'do not wait until it is done')
    .addOption(timeoutOption())
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
}

function timeoutOption(): Option {
  return new Option('--timeout <seconds>', 'how long to wait').default(600).argParser((text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= 1 && value <= 86_400) return value
    throw new InvalidArgumentError('It must be a whole number from 1 to 86400.')
  })
}
