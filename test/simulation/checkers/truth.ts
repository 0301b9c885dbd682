import { BrokenInvariant } from '../../../base/assert.ts'
import { decodeEnvelope, emptyConfiguration, initialConfiguration } from '../../../raft/index.ts'
import type { Entry } from '../../../raft/index.ts'
import { decodeCommand } from '../../../src/store/command-codec.ts'
import type { ClusterIdentity, Command, Condition, Founding, Operation } from '../../../src/store/command.ts'
import type { Key } from '../../../src/store/key.ts'
import { memberObjectsLevel } from '../../../src/store/machine/feature-level.ts'
import { memberOperations, memberPrefix } from '../../../src/store/machine/member-objects.ts'
import { atRevision, docOf, observedObject } from '../clients/observed-object.ts'
import type { Doc, ObservedObject } from '../clients/observed-object.ts'
import { StorageModel } from './storage-model.ts'
import type { Version } from './version.ts'

/**
 * The reference history: the committed entries, replayed by a minimal program. It keeps every
 * version and session and compacts nothing, so that all responses can be compared with it.
 */
export class Truth {
  readonly storage = new StorageModel()
  /** By revision; revision 0 has no version. */
  readonly #versions: (Version | undefined)[] = [undefined]
  readonly #byKey = new Map<string, Version[]>()
  /** The revision after each index. */
  readonly #revisions: number[] = [0]
  readonly #sessions = new Map<number, { floor: number; readonly decided: Set<number> }>()
  readonly #shown = new Map<number, ObservedObject>()
  #window = { historyEventsMin: 0, historyWindowMs: 0 }
  #identity: ClusterIdentity | null = null
  #configuration = emptyConfiguration
  #trimmed = 0

  get revision(): number {
    return this.#versions.length - 1
  }

  get index(): number {
    return this.#revisions.length - 1
  }

  /** Versions below it may have been compacted. */
  get trimmed(): number {
    return this.#trimmed
  }

  /** Replays the next committed entry. */
  committed(entry: Entry): void {
    if (entry.index !== this.index + 1) throw new BrokenInvariant(`${entry.index} follows ${this.index}`)
    if (entry.kind === 'configuration') this.#configuration = entry.configuration
    if (entry.kind === 'command') this.#propose(entry.term, entry.data)
    else this.#showMembers(0)
    this.#revisions.push(this.revision)
  }

  /** @returns undefined for an index that is not committed */
  revisionAt(index: number): number | undefined {
    return this.#revisions[index]
  }

  version(revision: number): Version | undefined {
    return this.#versions[revision]
  }

  /** Returns the version under a store's key at a revision; null without one. */
  at(key: string, revision: number): Version | null {
    const found = this.#lastOf(key, revision)
    return found === null || found.kind === 'deleted' ? null : found
  }

  /** The keys of all objects that ever existed, in order of their first creation. */
  get keys(): Iterable<string> {
    return this.#byKey.keys()
  }

  /** All versions of a key, deletions too, in order. */
  versionsOf(key: string): readonly Version[] {
    return this.#byKey.get(key) ?? []
  }

  /** Returns the objects below a prefix at a revision, in key order. */
  list(prefix: string, revision: number): Version[] {
    const found: Version[] = []
    for (const key of this.#byKey.keys()) {
      const version = key.startsWith(prefix) ? this.at(key, revision) : null
      if (version !== null) found.push(version)
    }
    return found.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** Returns the version as clients see it. */
  shown(version: Version): ObservedObject {
    let shown = this.#shown.get(version.revision)
    if (shown === undefined) {
      shown = observedObject(this.doc(version, version.revision))
      this.#shown.set(version.revision, shown)
    }
    return shown
  }

  /** Returns the content of a version with another revision as its resourceVersion. */
  doc(version: Version, revision: number): Doc {
    return atRevision(docOf(version.bytes), revision)
  }

  #propose(term: number, data: Uint8Array): void {
    const { session: id, sequence, acknowledgedBelow, expectedTerm, payload } = decodeEnvelope(data)
    const session = this.#sessions.get(id) ?? { floor: 0, decided: new Set<number>() }
    this.#sessions.set(id, session)
    session.floor = Math.max(session.floor, acknowledgedBelow)
    if (term !== expectedTerm || sequence < session.floor || session.decided.has(sequence)) return
    session.decided.add(sequence)
    this.#perform(decodeCommand(payload))
  }

  #perform(command: Command): void {
    const { storage } = this
    switch (command.kind) {
      case 'bootstrap':
        if (this.#identity !== null) break
        this.#write(command.operations, false)
        this.#identity = command.identity
        this.#window = command.settings
        storage.begin(command.featureLevel, command.settings)
        this.#found(command.founding)
        break
      case 'write':
        // A refused write may have raised the alarm, and never ends it, whatever the free space.
        if (this.#write(command.operations, true)) storage.look()
        break
      case 'change-settings':
        if (!storage.expects(command.expected, this.#window)) break
        this.#window = command.settings
        storage.set(command.settings)
        break
      case 'raise-feature-level':
        if (command.level <= storage.level) break
        storage.raise(command.level)
        this.#found(command.founding)
        break
      case 'trim':
        this.#trim(command.upTo)
        break
      case 'expire-sessions':
    }
  }

  #found(founding: Founding | undefined): void {
    if (founding !== undefined && this.#configuration.members.length === 0) {
      this.#configuration = initialConfiguration(founding.members)
    }
    this.#showMembers(founding?.atMs ?? 0)
  }

  /** Writes member objects with `memberOperations` of the server, which has tests of its own. */
  #showMembers(atMs: number): void {
    const identity = this.#identity
    if (identity === null || this.storage.level < memberObjectsLevel) return
    const shown = this.list(memberPrefix(identity.apiDomain), this.revision).map(({ key, bytes }) => ({
      key: key as Key,
      bytes,
    }))
    this.#write(memberOperations(shown, { configuration: this.#configuration, identity, atMs }), false)
    this.storage.look()
  }

  #trim(wanted: number): void {
    const upTo = Math.min(wanted, this.revision - this.storage.eventsKept(this.#window.historyEventsMin))
    if (upTo <= this.#trimmed) return
    for (let revision = this.#trimmed + 1; revision <= upTo; revision++) {
      const version = this.#versions[revision]
      const previous = this.#versions[version?.previous ?? 0]
      if (previous !== undefined) this.storage.gone(previous)
      if (version?.kind === 'deleted') this.storage.gone(version)
    }
    this.#trimmed = upTo
    this.storage.look()
  }

  /** @returns whether it took effect */
  #write(operations: readonly Operation[], bySize: boolean): boolean {
    const before = this.revision
    const known = new Map(operations.map(({ key }) => [key as string, this.#newest(key)]))
    for (const [at, operation] of operations.entries()) {
      const old = this.#newest(operation.key)
      const holds = operation.conditions.every((condition) => this.#holds(operation.key, condition))
      if (holds && (operation.kind === 'put' || old !== null)) {
        this.#add(operation, old, at === operations.length - 1)
        continue
      }
      this.#revert(before)
      return false
    }
    const newest = (key: string): Version | null => known.get(key) ?? null
    if (bySize && this.storage.refuses(operations, { revision: before, newest })) {
      this.#revert(before)
      return false
    }
    for (const version of this.#versions.slice(before + 1))
      if (version !== undefined) this.storage.made(version)
    return true
  }

  #add(operation: Operation, old: Version | null, last: boolean): void {
    const revision = this.revision + 1
    const place = { key: old?.key ?? operation.key, revision, previous: old?.revision ?? 0, last }
    let version: Version
    if (operation.kind === 'put') {
      const { uid, terminating, labels, bytes } = operation.object
      version = { ...place, kind: old === null ? 'created' : 'updated', uid, terminating, labels, bytes }
    } else {
      if (old === null) throw new BrokenInvariant('a deleted object existed')
      version = { ...old, ...place, kind: 'deleted' }
    }
    this.#versions.push(version)
    const versions = this.#byKey.get(version.key)
    if (versions === undefined) this.#byKey.set(version.key, [version])
    else versions.push(version)
  }

  #revert(to: number): void {
    while (this.revision > to) {
      const version = this.#versions.pop()
      if (version !== undefined) this.#byKey.get(version.key)?.pop()
    }
  }

  #newest(key: string): Version | null {
    return this.at(key, this.revision)
  }

  #lastOf(key: string, revision: number): Version | null {
    const versions = this.#byKey.get(key) ?? []
    let [low, high] = [0, versions.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((versions[middle]?.revision ?? 0) <= revision) low = middle + 1
      else high = middle
    }
    return versions[low - 1] ?? null
  }

  #holds(key: string, condition: Condition): boolean {
    const found = this.#newest(key)
    switch (condition.kind) {
      case 'absent':
        return found === null
      case 'exists':
        return found !== null
      case 'uid-is':
        return found?.uid === condition.uid
      case 'revision-is':
        return (found?.revision ?? 0) === condition.revision
      case 'namespace-active':
        return this.#newest(`/namespaces//${condition.namespace}`)?.terminating === false
      case 'prefix-empty':
        return condition.prefixes.every((prefix) => this.list(prefix, this.revision).length === 0)
      case 'other-revision-is':
        return (this.#newest(condition.key)?.revision ?? 0) === condition.revision
    }
  }
}
