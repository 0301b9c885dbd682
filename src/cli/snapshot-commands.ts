import type { Command, Option } from 'commander'
import { serverFlags, snapshotRestore } from './snapshot-restore.ts'
import type { RestoreFlags } from './snapshot-restore.ts'
import { snapshotSave, snapshotVerify } from './snapshot.ts'
import type { SaveFlags } from './snapshot.ts'
import type { SecretFlags } from './secret-file.ts'
import type { Format, Terminal } from './terminal.ts'

/** Options shared with other commands. */
export type SharedOptions = { readonly kubeconfig: () => Option; readonly output: () => Option }

export function addSnapshot(program: Command, terminal: Terminal, shared: SharedOptions): void {
  const snapshot = program
    .command('snapshot')
    .description('backups: the whole state of a cluster in one file')
  withSecret(
    snapshot
      .command('save')
      .description('write a consistent copy of the whole state, also under load')
      .argument('<file>', 'file to create; it must not exist'),
    'encrypt it with',
  )
    .option('--endpoint <member>', 'name or URL of the member to read from (default: the first that answers)')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((file: string, flags: SaveFlags) => snapshotSave(terminal, file, flags))
  withSecret(
    snapshot
      .command('verify')
      .description('read a snapshot, verify that it is intact, and show what it contains')
      .argument('<file>', 'a file that save wrote'),
    'it was encrypted with',
  )
    .addOption(shared.output())
    .action((file: string, flags: SecretFlags & { readonly output: Format }) =>
      snapshotVerify(terminal, file, flags),
    )
  addRestore(snapshot, terminal, shared)
}

function addRestore(snapshot: Command, terminal: Terminal, shared: SharedOptions): void {
  const restore = snapshot
    .command('restore')
    .description('create the data directory of one member of a new cluster from a snapshot')
    .argument('<file>', 'a file that save wrote')
  for (const [name, placeholder, what] of serverFlags) restore.option(`--${name} <${placeholder}>`, what)
  withSecret(restore, 'it was encrypted with')
    .option('--restore-id <id>', 'ID that the restore of the first member printed')
    .option('--new-keys', 'the members have other certificate authorities than the saved cluster had', false)
    .addOption(shared.output())
    .action((file: string, flags: RestoreFlags) => snapshotRestore(terminal, file, flags))
}

function withSecret(command: Command, verb: string): Command {
  return command
    .option('--passphrase-file <file>', `${verb} the passphrase in this file`)
    .option('--key-file <file>', `${verb} the key in this file, 32 random bytes or more`)
}
