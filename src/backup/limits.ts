const KiB = 1024
const MiB = 1024 * KiB

/** Limits of backups, with the behavior when one is reached where it is not obvious. */
export const backupLimits = Object.freeze({
  /** Bytes of the header of a snapshot file. Larger: damaged. */
  headerBytesMax: 64 * KiB,
  /** Bytes of one chunk. When full: the next one begins. */
  chunkBytes: 256 * KiB,
  /** Bytes of one chunk of a file that is read. Larger: damaged. */
  chunkBytesMax: 16 * MiB,
  /** Bytes of a file with a passphrase or key. Larger: rejected. */
  secretBytesMax: 64 * KiB,
  /** A shorter key could be guessed. */
  keyBytesMin: 32,
  /**
   * Scrypt parameters that a file may request: memory is 128 * blocks * cost bytes. Larger:
   * damaged.
   */
  scryptCostMax: 2 ** 20,
  scryptBlocksMax: 32,
  scryptParallelMax: 16,
  /** Approximate bytes of one batch to a new database. */
  batchBytesMax: 4 * MiB,
  /** Ms until a member that does not respond counts as dead. */
  answerMsMax: 1000,
  /** Bytes of log entries read at once. */
  readBytesMax: 8 * MiB,
  /** Unproven writes that are listed individually; further ones are only counted. */
  writesNamedMax: 20,
})
