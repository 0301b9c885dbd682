const KiB = 1024
const MiB = 1024 * KiB

/** Every bound of this room. */
export const backupLimits = Object.freeze({
  /** What a snapshot file says about itself. When more: it is damaged. */
  headerBytesMax: 64 * KiB,
  /** One chunk as it is written, and as large as one may be read. When full: the next begins. */
  chunkBytes: 256 * KiB,
  chunkBytesMax: 16 * MiB,
  /** A file with a passphrase or a key. When larger: it is refused, as it is something else. */
  secretBytesMax: 64 * KiB,
  /** A key shorter than this could be guessed. */
  keyBytesMin: 32,
  /** What a file may ask of whoever opens it: memory is 128 * blocks * cost bytes. */
  scryptCostMax: 2 ** 20,
  scryptBlocksMax: 32,
  scryptParallelMax: 16,
  /** One batch to a database that is being made, about. */
  batchBytesMax: 4 * MiB,
  /** How long a member gets to answer before it is taken for dead, in ms. */
  answerMsMax: 1000,
  /** Entries of a log read at once. */
  readBytesMax: 8 * MiB,
  /** Unproven writes that are named one by one; the others are counted. */
  writesNamedMax: 20,
})
