import { FrameParser } from '../store/disk/snapshot-frames.ts'
import type { SnapshotFrame } from '../store/disk/snapshot-frames.ts'
import { revisionOf, sessionOf } from '../store/disk/machine-keys.ts'
import { checkRecord } from '../store/disk/record-check.ts'
import { decodeStoredHead } from '../store/disk/stored-head.ts'
import { DatabaseError } from '../store/store-errors.ts'
import { addHash, hash128, hashText, newHash, readHash, sameHash } from '../store/machine/hash.ts'
import type { Hash128 } from '../store/machine/hash.ts'
import { encodeHead } from '../store/machine/head.ts'
import type { Head } from '../store/machine/head.ts'
import { decodeVersion } from '../store/machine/object-version.ts'
import type { Version } from '../store/machine/object-version.ts'
import { BackupError } from './errors.ts'

/** Objects and bytes of one resource. */
export type ResourceCount = { readonly resource: string; readonly objects: number; readonly bytes: number }

export type StateSummary = {
  readonly head: Head
  readonly digest: string
  /** Includes superseded versions and deletions that are still readable. */
  readonly versions: number
  /** Ascending by name; bytes of all versions. */
  readonly resources: readonly ResourceCount[]
}

/**
 * Verifies the stream of a state without storing it: each record by its hash, and all of them by
 * the digest of the head. Counts objects.
 */
export class SnapshotVerifier {
  readonly #name: string
  readonly #onVersion: (version: Version, head: Head) => void
  readonly #parser = new FrameParser()
  readonly #sum = newHash()
  readonly #counts = new Map<string, { objects: number; bytes: number }>()
  #stored: { readonly head: Head; readonly digest: Hash128 } | null = null
  #pairs = 0
  #versions = 0
  #ended = false

  /** @param name for messages @param onVersion called for each version, ascending by revision */
  constructor(name: string, onVersion: (version: Version, head: Head) => void = () => undefined) {
    this.#name = name
    this.#onVersion = onVersion
  }

  /** null: not received yet. */
  get head(): Head | null {
    return this.#stored?.head ?? null
  }

  /** The digest in the head, 32 hexadecimal digits; empty before the head. */
  get digest(): string {
    return this.#stored === null ? '' : hashText(this.#stored.digest)
  }

  /** @throws BackupError `damaged`, `newer-format` */
  take(bytes: Uint8Array): void {
    this.#reportDamage(() => {
      for (const frame of this.#parser.push(bytes)) this.#frame(frame)
    })
  }

  /** @throws BackupError `damaged`, `incomplete` */
  finish(): StateSummary {
    const stored = this.#stored
    if (stored === null || !this.#ended || !this.#parser.atBorder) {
      throw new BackupError('incomplete', `${this.#name} ended early: save it again, or use another copy`)
    }
    const { head, digest } = stored
    const sum = hash128(encodeHead(head), 0, newHash())
    addHash(sum, this.#sum)
    if (!sameHash(sum, digest)) throw this.#damaged(`its digest is ${hashText(sum)}, not ${hashText(digest)}`)
    const resources = [...this.#counts]
      .map(([resource, count]) => ({ resource, ...count }))
      .sort((a, b) => (a.resource < b.resource ? -1 : 1))
    return { head, digest: hashText(digest), versions: this.#versions, resources }
  }

  #frame(frame: SnapshotFrame): void {
    if (this.#ended) throw this.#damaged('it continues after its end')
    switch (frame.kind) {
      case 'head':
        if (this.#stored !== null) throw this.#damaged('it begins twice')
        this.#stored = decodeStoredHead(frame.storedHead)
        return
      case 'pairs':
        for (const [key, record] of frame.pairs) this.#pair(key, record)
        return
      case 'end':
        if (frame.pairs !== this.#pairs) throw this.#damaged('some of its records are missing')
        this.#ended = true
        return
    }
  }

  #pair(key: Uint8Array, record: Uint8Array): void {
    const head = this.#stored?.head
    if (head === undefined) throw this.#damaged('it does not begin with its head')
    this.#pairs++
    const at = revisionOf(key)
    if (at === null) {
      if (sessionOf(key) === null) throw this.#damaged('it contains a key that is not part of a state')
      checkRecord(key, record)
    } else {
      const version = decodeVersion(record, at)
      this.#versions++
      this.#count(version, record.byteLength, at > head.trimmed)
      this.#onVersion(version, head)
    }
    addHash(this.#sum, readHash(record, 0, scratch))
  }

  /** @param hasEvent whether the stream contains the previous version, if there was one */
  #count(version: Version, bytes: number, hasEvent: boolean): void {
    const resource = resourceOf(version.key)
    const count = this.#counts.get(resource) ?? { objects: 0, bytes: 0 }
    this.#counts.set(resource, count)
    count.bytes += bytes
    if (version.kind === 'deleted') count.objects--
    else if (version.kind === 'created' || !hasEvent) count.objects++
  }

  #reportDamage(step: () => void): void {
    try {
      step()
    } catch (cause) {
      if (!(cause instanceof DatabaseError)) throw cause
      if (cause.code === 'unsupported')
        throw new BackupError('newer-format', `${this.#name}: ${cause.message}`, { cause })
      throw this.#damaged(cause.message)
    }
  }

  #damaged(what: string): BackupError {
    return new BackupError('damaged', `${this.#name} is damaged: ${what}`)
  }
}

const scratch = newHash()

/** `configmaps`, or with a group `leases.coordination.k8s.io`. @param key `<group>/<plural>/…` */
function resourceOf(key: string): string {
  const [group = '', plural = ''] = key.split('/', 2)
  return group === '' ? plural : `${plural}.${group}`
}
