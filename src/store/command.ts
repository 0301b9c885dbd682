import type { MemberInfo } from '../../raft/index.ts'
import type { Key } from './key.ts'
import type { Revision } from './revision.ts'

/**
 * What the log replicates: everything a member needs to decide alone, so uid, timestamps, generated
 * names and limits travel inside. A closed union; a new kind needs a new feature level.
 */
export type Command =
  /** All operations take effect, or none does. Revisions are consecutive, one for each. */
  | { readonly kind: 'write'; readonly operations: readonly Operation[] }
  /** The first command of a cluster. Void when the cluster has an identity already. */
  | {
      readonly kind: 'bootstrap'
      readonly identity: ClusterIdentity
      readonly settings: Settings
      readonly operations: readonly Operation[]
      /** The rules the cluster begins with: what its founder knows. From 1. */
      readonly featureLevel: number
      /** From feature level 3 on. */
      readonly founding?: Founding
    }
  /**
   * Forgets history at and below `upTo`; proposed by the leader for what it applied long enough
   * ago.
   */
  | { readonly kind: 'trim'; readonly upTo: Revision }
  | {
      readonly kind: 'change-settings'
      readonly settings: Settings
      /**
       * Only while the settings are these. Not before feature level 2: older programs would not
       * look.
       */
      readonly expected?: Settings
    }
  /** @param founding in a raise to feature level 3 or beyond */
  | { readonly kind: 'raise-feature-level'; readonly level: number; readonly founding?: Founding }
  /** Sessions not heard of since the log index `before` are forgotten. */
  | { readonly kind: 'expire-sessions'; readonly before: number }

/**
 * What the log itself does not say: who is a member while it has no entry about that, as it begins
 * with a configuration. There is none before feature level 3: until then nobody comes or goes.
 */
export type Founding = {
  readonly members: readonly MemberInfo[]
  /** Wall-clock ms of the proposer: since when they are shown as members. */
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
 * An object as it is stored and sent: JSON bytes that begin `{"kind":…,"apiVersion":…,` and leave
 * the value of `resourceVersion` empty; apply splices the decimal revision in.
 */
export type EncodedObject = {
  readonly bytes: Uint8Array
  /** Where the digits go: between the quotes of `"resourceVersion":""`. */
  readonly revisionOffset: number
  /** A list item is `{` followed by the bytes from here on: kind and apiVersion are left out. */
  readonly itemOffset: number
  readonly uid: string
  /** The object carries a `deletionTimestamp`. */
  readonly terminating: boolean
  /** As in the bytes, kept apart so that selectors need no parsing. null: none. */
  readonly labels: Readonly<Record<string, string>> | null
}

/** What must hold at apply. The refusal names the one that did not. */
export type Condition =
  | { readonly kind: 'absent' }
  | { readonly kind: 'exists' }
  | { readonly kind: 'uid-is'; readonly uid: string }
  | { readonly kind: 'revision-is'; readonly revision: Revision }
  /** The namespace object exists and its latest put did not say `terminating`. */
  | { readonly kind: 'namespace-active'; readonly namespace: string }
  /** No object lies under the prefix: the last condition of a namespace's removal. */
  | { readonly kind: 'prefix-empty'; readonly prefixes: readonly string[] }
  /**
   * Another object is at that version: what was decided by it still holds. From feature level 3 on.
   */
  | { readonly kind: 'other-revision-is'; readonly key: Key; readonly revision: Revision }

export type OtherRevision = Extract<Condition, { readonly kind: 'other-revision-is' }>

export type ClusterIdentity = {
  /** Random; members of another cluster are strangers. */
  readonly clusterId: string
  readonly apiDomain: 'orch.io' | 'k8s.io'
  /** Authenticates continue tokens on every member. 32 random bytes. */
  readonly continueTokenKey: Uint8Array
  /** SHA-256 of each shared key's public half at the founding, by name. */
  readonly keyFingerprints: Readonly<Record<string, string>>
}

/** Replicated, so that all members decide alike. Changed by command only. */
export type Settings = {
  /** Revisions stay readable at least this long after they were superseded. */
  readonly historyWindowMs: number
  /** And at least this many of the newest events stay. */
  readonly historyEventsMin: number
  /** An object's bytes, at most. Decided at apply from feature level 2 on. */
  readonly objectBytesMax: number
  /**
   * Bytes of all versions that can still be read, at most; see `StorageUsage`. null before feature
   * level 2, and in a command: as it is.
   */
  readonly storageBytesMax: number | null
  /** 1: the leader may answer reads by its lease. Unset: 0; not before feature level 2. */
  readonly leaseReads?: number
}

/**
 * What a command did, told to whoever proposed it. Part of the replicated state until acknowledged.
 */
export type Outcome =
  /** `revisions[i]` is that of operation i. */
  | { readonly kind: 'done'; readonly revisions: readonly Revision[] }
  | {
      readonly kind: 'refused'
      /** Which operation lost, and which of its conditions. */
      readonly operation: number
      readonly condition: Condition
      /** The key's revision when it lost; 0 when absent. */
      readonly current: Revision
    }
  /**
   * An object is larger than `Settings.objectBytesMax`. From feature level 2 on, as is the next.
   */
  | {
      readonly kind: 'too-large'
      readonly operation: number
      readonly bytes: number
      readonly bytesMax: number
    }
  /** The storage quota is used up. */
  | { readonly kind: 'over-quota'; readonly usedBytes: number; readonly bytesMax: number }
  /**
   * A bootstrap that came second, a trim of what is gone, a change of settings that are others by
   * now.
   */
  | { readonly kind: 'nothing' }
