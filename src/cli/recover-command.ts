import type { Command } from 'commander'
import { recover } from './recover.ts'
import type { RecoverFlags } from './recover.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import type { Terminal } from './terminal.ts'

export function addRecover(program: Command, terminal: Terminal, shared: SharedOptions): void {
  program
    .command('recover')
    .description(
      'for a majority that is lost for ever: what survived, what may be lost, and on --yes go on from it',
    )
    .requiredOption('--data-dir <dir...>', 'every data directory that survived, its member stopped')
    .option('--dead <name...>', 'members that are dead whatever answers at their addresses', [])
    .option('--yes', 'do it; without this nothing is changed', false)
    .addOption(shared.output())
    .action((flags: RecoverFlags) => recover(terminal, flags))
}
