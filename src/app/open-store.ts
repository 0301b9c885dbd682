import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { DatabaseError } from '../store/store-errors.ts'
import type { QuarantinedDatabaseEvent } from '../store/disk/quarantined-database.ts'
import { StoreMachine } from '../store/store-machine.ts'
import type { StoreMachineOptions } from '../store/store-machine-options.ts'
import { StartError } from '../config/start-error.ts'
import { withReplacement } from './replacement-advice.ts'
import { logQuarantine } from './log-quarantine.ts'
import { logFolder, databaseFolder } from '../data-dir/layout.ts'

type StoreListener = 'onInstalled' | 'onQuarantine' | 'onReplay' | 'onMissing' | 'onQuarantinedDatabase'

/**
 * Opens the state of a member and logs what was found.
 *
 * @param directory the data directory
 * @throws StartError `data-directory` naming the directory
 */
export async function openStore(
  options: Omit<StoreMachineOptions, StoreListener>,
  {
    directory,
    log,
    config,
  }: {
    readonly directory: string
    readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
    readonly config: Config
  },
): Promise<StoreMachine> {
  const path = join(directory, databaseFolder)
  try {
    return await StoreMachine.open({
      ...options,
      onInstalled: ({ index, term }) => log.info({ index, term }, 'snapshot installed'),
      onQuarantine: (quarantine) => logQuarantine(quarantine, { path, name: config.name, log }),
      onReplay: (why) =>
        log.warn({ why, path }, 'the database is quarantined: rebuilding it from the log, which is complete'),
      onMissing: () =>
        log.warn({ path }, 'there is no database: building it from the log, which is complete'),
      onQuarantinedDatabase: (news) => logRemoval(news, log),
    })
  } catch (cause) {
    if (!(cause instanceof DatabaseError)) throw cause
    throw new StartError('data-directory', withReplacement(placed(cause, directory), config), { cause })
  }
}

function logRemoval(news: QuarantinedDatabaseEvent, log: Pick<Logger, 'info' | 'warn'>): void {
  const { kind, ...fields } = news
  if (kind === 'removed') log.info(fields, 'deleted the quarantined database: another state has replaced it')
  else log.warn(fields, 'could not delete the quarantined database')
}

/** Returns the message with the path of the database or the log, which the store does not know. */
function placed({ code, message }: DatabaseError, directory: string): string {
  if (message.includes(directory)) return message
  return `${join(directory, code === 'beyond-log' ? logFolder : databaseFolder)}: ${message}`
}
