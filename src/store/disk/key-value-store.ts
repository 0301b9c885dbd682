/*
 * The database interface of the store: ordered keys, atomic durable batches, consistent snapshots.
 * Each implementation passes the suite in test/conformance/key-value-store.ts.
 */

/** Several databases, distinguished by name: a live one, and one being staged. */
export interface KeyValueDatabases {
  /** Returns the names of all databases that were opened, and neither destroyed nor quarantined. */
  list(): Promise<readonly string[]>
  /**
   * Opens or creates a database. A name can be open once at a time.
   * @throws DatabaseError `damaged` when the database is at fault, `io` or `full` when the disk is
   */
  open(name: string): Promise<KeyValueStore>
  /** Removes a closed database permanently; does nothing when it does not exist. */
  destroy(name: string): Promise<void>
  /**
   * Marks a database, open or closed, as quarantined; durable on return. `quarantine` removes the
   * mark.
   *
   * @param reason one line
   */
  markQuarantined(name: string, reason: string): Promise<void>
  /** Returns the reasons of the marks by database name, whether or not the database exists. */
  quarantineMarks(): Promise<ReadonlyMap<string, string>>
  /**
   * Moves a closed database out of `list` permanently and keeps it for inspection; durable on
   * return. Replaces the previously quarantined one. If the database does not exist, only its mark
   * is removed.
   */
  quarantine(name: string): Promise<void>
  /**
   * Removes the quarantined database.
   * @returns null when there is none
   * @throws DatabaseError `io` naming the remaining path
   */
  discardQuarantined(): Promise<Discarded | null>
}

/** The removed database, for logging. */
export type Discarded = { readonly path: string; readonly bytes: number }

export interface KeyValueStore {
  /** Returns the newest values, null for absent keys. The caller may keep but not modify them. */
  getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | null)[]>
  /**
   * Writes all changes or none, durable on return; later changes of a key win over earlier ones.
   * Batches take effect in the order of the calls. After a failure, no further write is allowed.
   */
  write(changes: readonly KeyValueChange[]): Promise<void>
  /** Returns the current contents, unaffected by later writes. */
  snapshot(): KeyValueSnapshot
  /**
   * Rewrites the files, so that they have no bytes of values that were replaced or deleted before
   * the call. Other operations are not blocked.
   *
   * @returns false: not done, because an open snapshot may show such values, or the database is
   * being closed
   * @throws DatabaseError
   */
  compact(): Promise<boolean>
  /** Waits for operations in progress and closes. Snapshots and ranges become unusable. */
  close(): Promise<void>
}

export type KeyValueChange =
  | { readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: 'delete'; readonly key: Uint8Array }

export type KeyValuePair = readonly [key: Uint8Array, value: Uint8Array]

export interface KeyValueSnapshot {
  /** Returns pairs with `from` <= key < `to`, ascending by bytes. */
  range(from: Uint8Array, to: Uint8Array): KeyValueRange
  close(): Promise<void>
}

export interface KeyValueRange {
  /** Returns some of the next pairs: at most about 256 KiB, but at least one. Empty at the end. */
  next(): Promise<readonly KeyValuePair[]>
  close(): Promise<void>
}

/** Approximate maximum of the bytes that `KeyValueRange.next` returns at a time. */
export const rangeBytesMax = 256 * 1024
