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
    .description('who belongs to the cluster, and how each is')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((options: Options) => memberList(terminal, options.kubeconfig, options.output))
  addComing(member, terminal, shared)
  addChanges(member, terminal, shared)
  addRepair(member, terminal, shared)
  member
    .command('transfer-leader')
    .description('make another member the leader')
    .argument('[name]', 'unset: whichever is most up to date')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((name: string | undefined, options: Options) =>
      transferLeader(terminal, options.kubeconfig, name ?? null, options.output),
    )
}

function addComing(member: Command, terminal: Terminal, shared: SharedOptions): void {
  const add = member
    .command('add')
    .description('make a token for a new member, valid an hour, and say what to type on its machine')
    .argument('<name>', 'of the new member: a DNS label')
    .addOption(
      new Option('--role <role>', 'learner: it never votes; voter: it does once it has caught up')
        .choices(['voter', 'learner'])
        .default('voter'),
    )
    .option('--replaces <name>', 'a voter whose place it takes in the step in which it begins to vote')
    .option('--wait', 'then wait until it has joined and caught up', false)
  seated(add, shared).action((name: string, flags: AddFlags) => memberAdd(terminal, name, flags))
  const replace = member
    .command('replace')
    .description('let another machine take the place of a voter, dead or alive, and wait until it has')
    .argument('<old>', 'the member that goes')
    .argument('<new>', 'the member that comes, under another name')
    .option('--no-wait', 'only make the token')
  seated(replace, shared).action((old: string, next: string, flags: ReplaceFlags) =>
    memberReplace(terminal, { old, next }, flags),
  )
}

function seated(command: Command, shared: SharedOptions): Command {
  return command
    .requiredOption('--peer-address <host:port>', 'where the other members dial it')
    .requiredOption('--client-address <host:port>', 'where clients dial it')
    .option(
      '--pki <dir>',
      'the cluster’s keys: make those of the new member there, and its context in the kubeconfig',
    )
    .addOption(timeoutOption())
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
}

function addChanges(member: Command, terminal: Terminal, shared: SharedOptions): void {
  for (const [name, words, act] of [
    ['promote', 'let a learner vote, once it has caught up', memberPromote],
    ['demote', 'let a voter be a learner, and stay one', memberDemote],
    ['remove', 'remove a member for good; the leader hands over first', memberRemove],
  ] as const) {
    changing(member.command(name).description(words), shared).action((who: string, flags: ChangeFlags) =>
      act(terminal, who, flags),
    )
  }
  changing(
    member.command('move').description('tell the others where a member is dialled from now on'),
    shared,
  )
    .option('--peer-address <host:port>', 'by the other members')
    .option('--client-address <host:port>', 'by clients')
    .action((who: string, flags: MoveFlags) => memberMove(terminal, who, flags))
}

function addRepair(member: Command, terminal: Terminal, shared: SharedOptions): void {
  const words =
    'replace the state of a member that differs from others by the leader’s. Find out first which state is right ' +
    '(docs/operations/repair.md): what this member has is set aside, then removed'
  changing(member.command('repair').description(words), shared)
    .option('--from <name>', 'the member whose state is right: it is trusted and leads first')
    .action((who: string, flags: RepairFlags) => memberRepair(terminal, who, flags))
}

function changing(command: Command, shared: SharedOptions): Command {
  return command
    .argument('<name>', 'which member')
    .option('--no-wait', 'do not wait until it is done')
    .addOption(timeoutOption())
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
}

function timeoutOption(): Option {
  return new Option('--timeout <seconds>', 'how long to wait').default(600).argParser((text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= 1 && value <= 86_400) return value
    throw new InvalidArgumentError('It is a whole number from 1 to 86400.')
  })
}
