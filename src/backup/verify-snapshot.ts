import type { Head } from '../store/machine/head.ts'
import type { Version } from '../store/machine/object-version.ts'
import type { Secret } from './chunk-seal.ts'
import type { SnapshotFile } from './snapshot-file.ts'
import { damaged } from './snapshot-format.ts'
import type { FileHeader, FileTrailer } from './snapshot-format.ts'
import { SnapshotVerifier } from './snapshot-verifier.ts'
import type { StateSummary } from './snapshot-verifier.ts'

export type VerifiedSnapshot = {
  readonly header: FileHeader
  readonly summary: StateSummary
  readonly trailer: FileTrailer
}

/**
 * Verifies a whole snapshot file, holding one chunk at a time: every chunk and record, the digest
 * of the state, and the header.
 *
 * @param onVersion called for each version, ascending by revision
 * @throws BackupError
 */
export function verifySnapshot(
  file: SnapshotFile,
  options: {
    readonly name: string
    readonly secret: Secret | null
    readonly onVersion?: (version: Version, head: Head) => void
  },
): VerifiedSnapshot {
  const { header } = file
  const { name, secret, onVersion } = options
  const verifier = new SnapshotVerifier(name, onVersion)
  const pieces = file.pieces(secret)
  let step = pieces.next()
  for (; step.done !== true; step = pieces.next()) verifier.take(step.value)
  const summary = verifier.finish()
  const { head, digest } = summary
  const isSame =
    head.identity?.clusterId === header.clusterId &&
    head.identity.apiDomain === header.apiDomain &&
    head.revision === header.revision &&
    head.appliedIndex === header.logIndex &&
    head.appliedTerm === header.logTerm &&
    head.featureLevel === header.featureLevel &&
    digest === header.digest
  if (!isSame) throw damaged(name, 'its header')
  return { header, summary, trailer: step.value }
}
