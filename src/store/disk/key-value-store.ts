/*
 * What this room asks of a database: ordered keys, atomic durable batches, pictures that hold
 * still. Each implementation passes the suite in test/conformance/key-value-store.ts.
 */

/** Several databases side by side, told apart by name: a live one, and one being staged. */
export interface KeyValueDatabases {
  /** Names of all that were opened and not destroyed, in no order. */
  list(): Promise<readonly string[]>
  /**
   * Opens or creates. One opening per name at a time.
   * @throws DatabaseError `damaged` when what is there is to blame, `io` when the disk is
   */
  open(name: string): Promise<KeyValueStore>
  /** Removes a closed one for good; does nothing when there is none. */
  destroy(name: string): Promise<void>
  /**
   * Notes beside a database, open or not, that it is not to be trusted; durable on return. The note
   * is gone once `setAside` has returned.
   *
   * @param reason one line
   */
  markQuarantined(name: string, reason: string): Promise<void>
  /** The reasons noted, by name, of databases that are there or not. */
  quarantineMarks(): Promise<ReadonlyMap<string, string>>
  /**
   * Keeps a closed one, whole or not, out of `list` for good, durable on return: for whoever wants
   * to look at it. Takes the place of the one set aside before; does nothing when there is none.
   */
  quarantine(name: string): Promise<void>
  /**
   * Removes what is set aside. @returns null when nothing is @throws DatabaseError `io` naming what
   * is left
   */
  discardQuarantined(): Promise<Discarded | null>
}

/** What was removed, for whoever wonders where it went. */
export type Discarded = { readonly path: string; readonly bytes: number }

export interface KeyValueStore {
  /**
   * The newest values, null where there is none. The caller may keep them and does not change them.
   */
  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]>
  /**
   * All changes or none, durable on return; later changes of a key win over earlier ones. Batches
   * take effect in the order of the calls. After a failure nothing more may be written.
   */
  write(changes: readonly KeyValueChange[]): Promise<void>
  /** The database as it is now, whatever is written afterwards. */
  snapshot(): KeyValueSnapshot
  /** Ends what is under way. Snapshots and ranges are of no use afterwards. */
  close(): Promise<void>
}

export type KeyValueChange =
  | { readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'delete'; readonly key: Uint8Array }

export type KeyValuePair = readonly [key: Uint8Array, value: Uint8Array]

export interface KeyValueSnapshot {
  /** Pairs with `from` <= key < `to`, ascending by bytes. */
  range(from: Uint8Array, to: Uint8Array): KeyValueRange
  close(): Promise<void>
}

export interface KeyValueRange {
  /** Some of the next pairs: about 256 KiB, but at least one. Empty at the end. */
  next(): Promise<readonly KeyValuePair[]>
  close(): Promise<void>
}

/** What `KeyValueRange.next` returns at once, about. */
export const rangeBytesMax = 256 * 1024
