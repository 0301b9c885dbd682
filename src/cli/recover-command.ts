import type { Command } from 'commander'
import { recover } from './recover.ts'
import type { RecoverFlags } from './recover.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import type { Terminal } from './terminal.ts'

export function addRecover(program: Command, terminal: Terminal, shared: SharedOptions): void {
  program
    .command('recover')
    .description(
      'after the permanent loss of a majority: report what survived and what may be lost; with --yes continue from it',
    )
    .requiredOption('--data-dir <dir...>', 'all surviving data directories, with their members stopped')
    .option('--dead <name...>', 'members to treat as dead even if something responds at their addresses', [])
    .option('--yes', 'do it; otherwise nothing is changed', false)
    .addOption(shared.output())
    .action((flags: RecoverFlags) => recover(terminal, flags))
}
