import type { Random } from '../../base/random.ts'
import { BackupError } from './errors.ts'
import { newDerivation } from './chunk-seal.ts'
import type { Secret } from './chunk-seal.ts'
import type { FileHeader } from './snapshot-format.ts'
import { SnapshotWriter } from './snapshot-writer.ts'
import { SnapshotVerifier } from './snapshot-verifier.ts'
import type { StateSummary } from './snapshot-verifier.ts'

export type SaveOptions = {
  /** Name of the stream for messages. */
  readonly name: string
  readonly clusterName: string
  readonly savedAt: string
  readonly program: string
  readonly secret: Secret | null
  readonly random: Random
  readonly write: (bytes: Uint8Array) => void
}

/**
 * Verifies the stream of a member and writes it as a snapshot file. Memory is bounded by one frame.
 */
export class SnapshotSaver {
  readonly #options: SaveOptions
  readonly #verifier: SnapshotVerifier
  #writer: SnapshotWriter | null = null
  #header: FileHeader | null = null
  /** Bytes before the head was complete. */
  #early: Uint8Array[] = []

  constructor(options: SaveOptions) {
    this.#options = options
    this.#verifier = new SnapshotVerifier(options.name)
  }

  /** Total bytes of objects and history that the member reported; null: unknown. */
  get expectedBytes(): number | null {
    const used = this.#verifier.head?.usedBytes ?? 0
    return used > 0 ? used : null
  }

  /** @throws BackupError: the partial file is unusable */
  take(bytes: Uint8Array): void {
    this.#verifier.take(bytes)
    this.#early.push(bytes)
    this.#begin()
    if (this.#writer === null) return
    for (const piece of this.#early) this.#writer.push(piece)
    this.#early = []
  }

  /**
   * Completes the file after the end of the stream.
   *
   * @throws BackupError: the partial file is unusable
   */
  finish(): { readonly header: FileHeader; readonly summary: StateSummary } {
    const summary = this.#verifier.finish()
    const [writer, header] = [this.#writer, this.#header]
    if (writer === null || header === null) {
      throw new BackupError('incomplete', `${this.#options.name} ended early: nothing was saved`)
    }
    writer.end()
    return { header, summary }
  }

  #begin(): void {
    const { head, digest } = this.#verifier
    if (this.#writer !== null || head === null) return
    if (head.identity === null) {
      throw new BackupError('refused', 'the cluster is not founded yet: there is nothing to save')
    }
    const { name, clusterName, savedAt, program, secret, random, write } = this.#options
    this.#header = {
      clusterId: head.identity.clusterId,
      clusterName,
      apiDomain: head.identity.apiDomain,
      revision: head.revision,
      logIndex: head.appliedIndex,
      logTerm: head.appliedTerm,
      featureLevel: head.featureLevel,
      savedAt,
      digest,
      program,
      encryption: secret === null ? null : newDerivation(secret, random),
    }
    this.#writer = new SnapshotWriter({ header: this.#header, secret, write, name })
  }
}
