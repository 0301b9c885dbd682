import type { Secret } from '../backup/chunk-seal.ts'
import { RealFileBytes } from '../backup/file-bytes.ts'
import { newIncarnation } from '../backup/incarnation.ts'
import type { ClusterIncarnation } from '../backup/incarnation.ts'
import { SnapshotFile } from '../backup/snapshot-file.ts'
import { verifySnapshot } from '../backup/verify-snapshot.ts'
import { prepareCluster } from './local-cluster.ts'
import type { LocalCluster, LocalClusterOptions } from './local-cluster.ts'
import { configOf, restoreMember } from './snapshot-restore.ts'
import type { Terminal } from './terminal.ts'

/** The snapshot that a new cluster on this machine starts from. */
export type RestoreFrom = { readonly file: string; readonly secret: Secret | null }

/**
 * Prepares a cluster of new members, each created from the snapshot, with the keys of the local
 * cluster. The file is verified first.
 *
 * @throws BackupError, CliError, StartError, or the error of the disk
 */
export async function prepareRestored(
  terminal: Terminal,
  options: LocalClusterOptions,
  { file, secret }: RestoreFrom,
): Promise<LocalCluster> {
  const bytes = new RealFileBytes(file)
  let domain = options.domain
  try {
    const { header } = verifySnapshot(new SnapshotFile(bytes, file), { name: file, secret })
    domain ??= header.apiDomain
  } finally {
    bytes.close()
  }
  const cluster = prepareCluster(terminal, { ...options, domain })
  let incarnation: ClusterIncarnation | null = null
  const incarnationOf = (fingerprint: string): ClusterIncarnation =>
    (incarnation ??= newIncarnation(terminal.clock.wallMs(), terminal.random, fingerprint))
  for (const member of cluster.members) {
    const config = configOf({ config: member.configPath })
    const { made } = await restoreMember(terminal, file, { config, incarnationOf, secret, newKeys: true })
    terminal.note(`${member.name} is made from ${file}, at revision ${made.head.revision}`)
  }
  return cluster
}
