import type { MemberInfo } from '../../raft/index.ts'
import type { Key } from './key.ts'
import type { Revision } from './revision.ts'

/**
 * A command in the replicated log. It contains everything that a member needs to apply it: uids,
 * timestamps, generated names and limits, too. A closed union; a new kind needs a new feature
 * level.
 */
export type Command =
  /** All operations take effect or none. Their revisions are consecutive. */
  | { readonly kind: 'write'; readonly operations: readonly Operation[] }
  /** The first command of a cluster. No effect when the cluster has an identity. */
  | {
      readonly kind: 'bootstrap'
      readonly identity: ClusterIdentity
      readonly settings: Settings
      readonly operations: readonly Operation[]
      /** Initial feature level: the highest one its founder supports. At least 1. */
      readonly featureLevel: number
      /** Since feature level 3. */
      readonly founding?: Founding
    }
  /**
   * Discards history at and below `upTo`; proposed by the leader when that history is old enough.
   */
  | { readonly kind: 'trim'; readonly upTo: Revision }
  | {
      readonly kind: 'change-settings'
      readonly settings: Settings
      /**
       * Takes effect only if the settings are equal to these. Since feature level 2: older programs
       * would ignore it.
       */
      readonly expected?: Settings
    }
  /** @param founding in a raise to feature level 3 or beyond */
  | { readonly kind: 'raise-feature-level'; readonly level: number; readonly founding?: Founding }
  /** Discards sessions without a command since the log index `before`. */
  | { readonly kind: 'expire-sessions'; readonly before: number }

/**
 * Initial members and their addresses. No configuration entry contains them, because the initial
 * configuration is not an entry. Since feature level 3; below it, no member can join.
 */
export type Founding = {
  readonly members: readonly MemberInfo[]
  /** Wall-clock ms of the proposal, shown as the time the members joined. */
  readonly atMs: number
}

export type Operation =
  | {
      readonly kind: 'put'
      readonly key: Key
      readonly conditions: readonly Condition[]
      readonly object: EncodedObject
    }
  | { readonly kind: 'delete'; readonly key: Key; readonly conditions: readonly Condition[] }

/**
 * An object in a command: JSON that begins with `{"kind":…,"apiVersion":…,` and has an empty
 * `resourceVersion`. Apply inserts the decimal revision; the result is stored and sent to clients.
 */
export type EncodedObject = {
  readonly bytes: Uint8Array
  /** Where the digits go: between the quotes of `"resourceVersion":""`. */
  readonly revisionOffset: number
  /**
   * A list item is `{` followed by the bytes from this offset: kind and apiVersion are left out.
   */
  readonly itemOffset: number
  readonly uid: string
  /** The object carries a `deletionTimestamp`. */
  readonly terminating: boolean
  /** Labels as in the bytes, kept separately so that selectors need no parsing. null: no labels. */
  readonly labels: Readonly<Record<string, string>> | null
}

/** A condition that is checked at apply. A refusal names the failed condition. */
export type Condition =
  | { readonly kind: 'absent' }
  | { readonly kind: 'exists' }
  | { readonly kind: 'uid-is'; readonly uid: string }
  | { readonly kind: 'revision-is'; readonly revision: Revision }
  /** The namespace object exists and is not terminating. */
  | { readonly kind: 'namespace-active'; readonly namespace: string }
  /**
   * No object has a key with one of the prefixes: for the removal of a container that must be
   * empty, such as a namespace, and for writes in a namespace without quotas or LimitRanges.
   */
  | { readonly kind: 'prefix-empty'; readonly prefixes: readonly string[] }
  /**
   * Another object is still at that revision, so a decision that was based on it is still valid.
   * Since feature level 3.
   */
  | { readonly kind: 'other-revision-is'; readonly key: Key; readonly revision: Revision }

export type OtherRevision = Extract<Condition, { readonly kind: 'other-revision-is' }>

export type ClusterIdentity = {
  /**
   * The cluster ID that consensus has at the founding. In a restored or recovered state: an ID that
   * is computed from the earlier one.
   */
  readonly clusterId: string
  readonly apiDomain: 'orch.io' | 'k8s.io'
  /** Authenticates continue tokens on every member. 32 random bytes. */
  readonly continueTokenKey: Uint8Array
  /** SHA-256 of the public half of each shared key at the founding, by name. */
  readonly keyFingerprints: Readonly<Record<string, string>>
}

export const staleAccessMsDefault = 30_000

/** Replicated, so that all members apply them alike. Changed by command only. */
export type Settings = {
  /** Revisions stay readable at least this long after they were superseded, in ms. */
  readonly historyWindowMs: number
  /** At least this many of the newest events are kept, unless space is tight; see `eventsKept`. */
  readonly historyEventsMin: number
  /** Maximum bytes of an object. Checked at apply since feature level 2. */
  readonly objectBytesMax: number
  /**
   * Maximum bytes of all readable versions; see `StorageUsage`. null before feature level 2. null
   * in a command: the quota stays as it is.
   */
  readonly storageBytesMax: number | null
  /** 1: the leader may serve reads by its lease. Unset: 0; since feature level 2. */
  readonly leaseReads?: number
  /**
   * How long a member without contact to a quorum decides by the permissions that it knows, in ms.
   * Unset: `staleAccessMsDefault`; since feature level 2.
   */
  readonly staleAccessMs?: number
}

/**
 * Result of a command, returned to its proposer. Part of the replicated state until it is
 * acknowledged or its session is removed.
 */
export type Outcome =
  /** `revisions[i]` is that of operation i. */
  | { readonly kind: 'done'; readonly revisions: readonly Revision[] }
  | {
      readonly kind: 'refused'
      /** Index of the refused operation, and its failed condition. */
      readonly operation: number
      readonly condition: Condition
      /** Revision of the key at that time; 0 when absent. */
      readonly current: Revision
    }
  /** An object exceeds `Settings.objectBytesMax`. Since feature level 2, like `over-quota`. */
  | {
      readonly kind: 'too-large'
      readonly operation: number
      readonly bytes: number
      readonly bytesMax: number
    }
  /** The storage quota is exceeded. */
  | { readonly kind: 'over-quota'; readonly usedBytes: number; readonly bytesMax: number }
  /**
   * The command had no effect: for example a second bootstrap, a trim of history that is already
   * discarded, a change of settings that have changed since, or a command that cannot be decoded.
   */
  | { readonly kind: 'nothing' }
