import type { Registry as MetricsRegistry } from 'prom-client'
import type { RaftNode } from '../../raft/index.ts'
import { ConfigError } from '../config/errors.ts'
import { limits } from '../config/limits.ts'
import { StartError } from '../config/start-error.ts'
import { EncryptedResourcesFile } from '../data-dir/encrypted-resources.ts'
import { parseEncryptionFile } from '../encryption/encryption-file.ts'
import { Encryption } from '../encryption/encryption.ts'
import type { RemovalRecord } from '../encryption/plain-text-removal.ts'
import { definitionsFor } from '../resources/index.ts'
import { removeTrimmed } from '../store/remove-trimmed.ts'
import type { Outcome } from '../store/command.ts'
import type { Store } from '../store/store.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { MemberContext } from './context.ts'

const notRecorded: RemovalRecord = { read: () => [], write: () => undefined }

function recordIn(directory: string): RemovalRecord {
  const file = new EncryptedResourcesFile(directory)
  return { read: () => file.read(), write: (resources) => file.write(resources) }
}

type EncryptedParts = {
  readonly store: Store
  readonly machine: StoreMachine
  readonly node: Pick<RaftNode<Outcome>, 'trimLog'>
  /** The data directory. */
  readonly directory: string
}

/**
 * Starts encryption at rest.
 *
 * @throws StartError `usage`: the file of `--encryption-provider-config` is invalid, or lacks a key
 * that objects are encrypted with
 */
export async function startEncryption(
  { config, names, clock, random, log, closing }: MemberContext,
  { store, machine, node, directory }: EncryptedParts,
  metrics: MetricsRegistry,
): Promise<Encryption> {
  const flag = 'encryption-provider-config'
  const builtIn = definitionsFor(names)
  /**
   * Index of the database at the start, or when trimmed versions were last removed from its files.
   * Retries of `trimLog` must use the same index.
   */
  let held = machine.appliedDisk.index
  const encryption = new Encryption({
    ...{ store, clock, random, log, path: config[flag] },
    parse: (content) => parseEncryptionFile(content, { names, builtIn }),
    cacheBytesMax: limits.decryptedBytesMax,
    ignoresLostKeys: config['encryption-ignore-lost-keys'],
    files: {
      trimmed: () => (machine.quarantine === null ? machine.state.history.trimmed : null),
      removeTrimmed: async () => {
        const isDone = await removeTrimmed(machine)
        if (isDone) held = machine.appliedDisk.index
        return isDone
      },
      record: config['in-memory'] ? notRecorded : recordIn(directory),
      trimLog: () => node.trimLog(held),
    },
  })
  closing.add(() => encryption.close())
  try {
    await encryption.start()
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    throw new StartError('usage', `--${flag}: ${cause.message}`, { cause })
  }
  encryption.register(metrics)
  return encryption
}
