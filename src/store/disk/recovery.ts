import { DatabaseError } from '../store-errors.ts'
import type { StoreLimits } from '../store-limits.ts'
import { digestOf } from '../machine/digest.ts'
import { addHash, hashText, newHash, readHash, sameHash } from '../machine/hash.ts'
import type { Hash128 } from '../machine/hash.ts'
import type { Head } from '../machine/head.ts'
import { History } from '../machine/event-history.ts'
import { RecordSlabs } from '../machine/record-slabs.ts'
import { ObjectTable } from '../machine/object-table.ts'
import { Sessions } from '../machine/proposer-sessions.ts'
import { tooNew } from '../machine/feature-level.ts'
import { emptyState } from '../machine/state.ts'
import { StorageUsage } from '../machine/storage-usage.ts'
import type { MachineState } from '../machine/state.ts'
import { decodeVersion } from '../machine/object-version.ts'
import type { Version } from '../machine/object-version.ts'
import { noRevision } from '../revision.ts'
import type { KeyValueSnapshot, KeyValueStore } from './key-value-store.ts'
import { headKey, revisionOf, sessionOf, sessionRange, versionRange } from './machine-keys.ts'
import { decodeStoredHead } from './stored-head.ts'

/**
 * Reads the whole state into memory and verifies it: each value by its own hash, all of them
 * together by the digest stored with the last batch.
 *
 * @param featureLevelMax the highest feature level of this member
 * @returns the empty state for an empty database
 * @throws DatabaseError `damaged`, `digest`, `unsupported`, `io`
 */
export async function loadState(
  store: KeyValueStore,
  limits: StoreLimits,
  featureLevelMax: number,
): Promise<MachineState> {
  const snapshot = store.snapshot()
  try {
    const [stored] = await store.getMany([headKey])
    if (stored === null || stored === undefined) {
      await requireEmpty(snapshot)
      return emptyState()
    }
    const { head, digest } = decodeStoredHead(stored)
    if (head.featureLevel > featureLevelMax) throw tooNew(head.featureLevel, featureLevelMax)
    const state = stateOf(head)
    await loadVersions(snapshot, state, limits)
    await loadSessions(snapshot, state.sessions)
    verify(state, head, digest)
    return state
  } finally {
    await snapshot.close()
  }
}

/** Versions without a head are an incomplete snapshot, or the head was lost: not usable. */
async function requireEmpty(snapshot: KeyValueSnapshot): Promise<void> {
  const range = snapshot.range(versionRange.from, versionRange.to)
  const pairs = await range.next()
  await range.close()
  if (pairs.length > 0) throw new DatabaseError('damaged', 'the database has versions and no head')
}

function stateOf(head: Head): MachineState {
  const records = new RecordSlabs()
  return {
    appliedIndex: head.appliedIndex,
    appliedTerm: head.appliedTerm,
    configuration: head.configuration,
    revision: head.revision,
    identity: head.identity,
    settings: head.settings,
    featureLevel: head.featureLevel,
    objects: new ObjectTable(),
    records,
    history: new History(head.trimmed, records),
    sessions: new Sessions(),
    versionsSum: newHash(),
    usage: new StorageUsage(),
    storageAlarm: head.storageAlarm,
  }
}

/**
 * Loads versions in ascending order of revision, so that each follows the one it replaced. A
 * version at or below `trimmed` has no event anymore: it is still current, or is removed when the
 * event of its successor is trimmed.
 */
async function loadVersions(
  snapshot: KeyValueSnapshot,
  state: MachineState,
  limits: StoreLimits,
): Promise<void> {
  const bounds = { events: limits.historyMemoryEventsMax, bytes: limits.historyMemoryBytesMax }
  const range = snapshot.range(versionRange.from, versionRange.to)
  const hash = newHash()
  try {
    for (let pairs = await range.next(); pairs.length > 0; pairs = await range.next()) {
      for (const [key, record] of pairs) {
        const at = revisionOf(key)
        if (at === null || at > state.revision)
          throw new DatabaseError('damaged', 'a version has an invalid key')
        const version = decodeVersion(record, at)
        version.pack(state.records)
        addHash(state.versionsSum, readHash(record, 0, hash))
        addVersion(state, version)
      }
      while (!state.history.shrink(state.history.last, bounds));
    }
  } finally {
    await range.close()
  }
}

function addVersion(state: MachineState, version: Version): void {
  const { objects, history, usage } = state
  const old = objects.get(version.key)
  if (version.revision > history.trimmed) {
    const isNext = version.revision === history.last + 1 && version.previous === (old?.revision ?? noRevision)
    if (!isNext)
      throw new DatabaseError(
        'damaged',
        `the version ${version.revision} does not follow the versions before it`,
      )
    history.append(version, old)
  } else if (old !== null || version.kind === 'deleted') {
    throw new DatabaseError('damaged', `the version ${version.revision} should have been removed`)
  }
  usage.put(version, old)
  if (version.kind !== 'deleted') objects.set(version)
  else if (old !== null) objects.delete(version.key)
}

async function loadSessions(snapshot: KeyValueSnapshot, sessions: Sessions): Promise<void> {
  const range = snapshot.range(sessionRange.from, sessionRange.to)
  try {
    for (let pairs = await range.next(); pairs.length > 0; pairs = await range.next()) {
      for (const [key, record] of pairs) {
        const session = sessionOf(key)
        if (session === null) throw new DatabaseError('damaged', 'a session has an invalid key')
        sessions.load(session, record)
      }
    }
  } finally {
    await range.close()
  }
}

function verify(state: MachineState, head: Head, digest: Hash128): void {
  if (state.history.last !== head.revision) {
    throw new DatabaseError('damaged', `events end at ${state.history.last} instead of ${head.revision}`)
  }
  const found = digestOf(state)
  if (sameHash(found, digest)) return
  throw new DatabaseError(
    'digest',
    `the database at index ${head.appliedIndex} has digest ${hashText(found)}, not ${hashText(digest)}`,
  )
}
