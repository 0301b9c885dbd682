import type { KeyObject } from 'node:crypto'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Configuration } from '../../raft/index.ts'
import { generateSigningKey } from '../auth/service-accounts/token-keys.ts'
import { limits } from '../config/limits.ts'
import { publicKeyPem, samePublicKey } from '../pki/keys.ts'
import type { KeyPair } from '../pki/keys.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import { StoreError } from '../store/store-errors.ts'
import { KeyRingError } from './errors.ts'
import { seal } from './sealing.ts'
import type { Recipient, Sealed } from './sealing.ts'
import { sealingContext } from './shared-token-keys.ts'
import type { SharedTokenKeys } from './shared-token-keys.ts'
import { hasPlace, keyWork, rotationMsDefault } from './signing-keys.ts'
import { withKey, withSealed, withoutKey, withoutOldPrivateKeys } from './signing-keys.ts'
import type { KeyWork, SharedKey, SigningKeys } from './signing-keys.ts'
import {
  deleteMemberKey,
  memberKeyKey,
  memberKeysIn,
  putMemberKey,
  putSigningKeys,
  signingKeysKey,
  storedMemberKey,
  storedSigningKeys,
  writeKeys,
} from './stored-keys.ts'

export type KeyRingDependencies = {
  readonly store: ObjectStore
  readonly clock: Clock
  /** ID of this member in decimal. */
  readonly member: string
  readonly memberKey: KeyPair
  readonly shared: SharedTokenKeys
  /** The members of the cluster, as this member has applied them. */
  readonly configuration: () => Configuration
  readonly onFailure: (cause: unknown) => void
}

/** Attempts of a change under concurrent changes. */
const attemptsMax = 5

/**
 * Changes the signing keys that all members share. Each private key is sealed for the members of
 * the cluster and stored with the replicated state, so none is ever copied by hand or stored in
 * clear text. Every member publishes its public key. The leader creates, seals and rotates on its
 * own; any member rotates and revokes for an operator.
 */
export class KeyRing {
  readonly #dependencies: KeyRingDependencies
  /** The check whether the public key of this member is stored. */
  #check: { readonly periodMs: number; readonly timer: Timer } | null = null
  #isLooking = false
  #isClosed = false
  /** The stored version of this member's key that was checked. null: none */
  #checked: Revision | null = null

  constructor(dependencies: KeyRingDependencies) {
    this.#dependencies = dependencies
  }

  /** Publishes the public key of this member, and again whenever the state lacks it. */
  start(): void {
    void this.#look()
  }

  close(): void {
    this.#isClosed = true
    this.#check?.timer.cancel()
  }

  /** Returns the keys with each change that was acknowledged before the call. @throws StoreError */
  async read(deadlineMs: number): Promise<SigningKeys> {
    await this.#dependencies.store.barrier(deadlineMs)
    return this.#stored().keys ?? { rotationMs: rotationMsDefault, keys: [] }
  }

  /**
   * Adds a key, which signs `signingKeyPublicationMs` later, so that members can learn it before.
   *
   * @throws KeyRingError; StoreError
   */
  rotate(deadlineMs: number): Promise<SigningKeys> {
    return this.#change(deadlineMs, (keys, recipients) =>
      this.#rotated(keys, recipients, 'after-publication'),
    )
  }

  /**
   * Removes a key: its tokens are invalid on each member as soon as the member has applied the
   * change. If it was the newest key, a new one takes its place and signs at once.
   *
   * @throws KeyRingError; StoreError
   */
  revoke(id: string, deadlineMs: number): Promise<SigningKeys> {
    return this.#change(deadlineMs, async (keys, recipients) => {
      if (!keys.keys.some((key) => key.id === id)) {
        const known = keys.keys.map((key) => key.id).join(', ')
        throw new KeyRingError('unknown-key', `there is no key ${id}: there are ${known}`)
      }
      const rest = withoutKey(keys, id)
      const isNewest = keys.keys.at(-1)?.id === id
      return isNewest ? withKey(rest, await this.#newKey(recipients, 'at-once')) : rest
    })
  }

  /** @param rotationMs 0: never */
  setRotation(rotationMs: number, deadlineMs: number): Promise<SigningKeys> {
    return this.#change(deadlineMs, (keys) => Promise.resolve({ ...keys, rotationMs }))
  }

  /**
   * Takes the next step that the keys need; for the leader. @returns false: there may be more to do
   * @throws StoreError, KeyRingError
   */
  async maintain(): Promise<boolean> {
    const { store, clock, shared, configuration } = this.#dependencies
    const deadlineMs = clock.monotonicMs() + limits.keyRingWriteMs
    await store.barrier(deadlineMs)
    // A key that is still being opened would look like one that cannot be opened.
    await shared.untilCurrent()
    const members = membersOf(configuration())
    const published = memberKeysIn(store.view())
    const recipients = published.filter(({ member }) => members.has(member))
    // The first key waits for its first recipient: this member.
    if (!recipients.some(({ member }) => member === this.#dependencies.member)) return false
    const removed = published.filter(({ member }) => !members.has(member))
    const { keys, revision } = this.#stored()
    const canOpen = (id: string): boolean => shared.canOpen(id)
    const work = keyWork(keys, { recipients, canOpen, nowMs: clock.wallMs() })
    if (work === null && removed.length === 0) return true
    const next = work === null ? null : await this.#worked(work, keys, recipients)
    const operations = [
      ...(next === null ? [] : [putSigningKeys(next, revision)]),
      ...removed.map(({ member }) => deleteMemberKey(member)),
    ]
    if (operations.length > 0) await writeKeys(store, operations, deadlineMs)
    return false
  }

  async #worked(
    work: KeyWork,
    keys: SigningKeys | null,
    recipients: readonly Recipient[],
  ): Promise<SigningKeys | null> {
    if (keys === null || work === 'create') {
      return withKey(keys, await this.#newKey(recipients, 'at-once'))
    }
    switch (work) {
      case 'rotate':
        return this.#rotated(keys, recipients, 'after-publication')
      case 'seal': {
        const id = keys.keys.at(-1)?.id ?? ''
        const privateKey = this.#dependencies.shared.privateKey(id)
        return privateKey === null ? null : withSealed(keys, id, await sealedKey(id, privateKey, recipients))
      }
      case 'drop-private-keys':
        return withoutOldPrivateKeys(keys, this.#dependencies.clock.wallMs())
    }
  }

  async #rotated(
    keys: SigningKeys,
    recipients: readonly Recipient[],
    start: 'at-once' | 'after-publication',
  ): Promise<SigningKeys> {
    if (!hasPlace(keys, this.#dependencies.clock.wallMs())) {
      const max = limits.sharedSigningKeysMax
      throw new KeyRingError(
        'full',
        `there are ${max} keys already, all used within a year: revoke one whose tokens have expired first`,
      )
    }
    return withKey(keys, await this.#newKey(recipients, start))
  }

  async #newKey(
    recipients: readonly Recipient[],
    start: 'at-once' | 'after-publication',
  ): Promise<SharedKey> {
    const key = generateSigningKey()
    const { id, publicKey } = key.verification
    const createdMs = Math.floor(this.#dependencies.clock.wallMs())
    return {
      ...{ id, createdMs, publicKey: publicKeyPem(publicKey) },
      signsFromMs: createdMs + (start === 'at-once' ? 0 : limits.signingKeyPublicationMs),
      sealed: await sealedKey(id, key.privateKey, recipients),
    }
  }

  async #change(
    deadlineMs: number,
    decide: (keys: SigningKeys, recipients: readonly Recipient[]) => Promise<SigningKeys>,
  ): Promise<SigningKeys> {
    const { store, configuration } = this.#dependencies
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      await store.barrier(deadlineMs)
      const { keys, revision } = this.#stored()
      if (keys === null) throw noKeys()
      const members = membersOf(configuration())
      const recipients = memberKeysIn(store.view()).filter(({ member }) => members.has(member))
      const next = await decide(keys, recipients)
      if (await writeKeys(store, [putSigningKeys(next, revision)], deadlineMs)) return next
    }
    throw new KeyRingError('conflict', 'the keys were not changed: there were concurrent changes, try again')
  }

  #stored(): { readonly keys: SigningKeys | null; readonly revision: Revision | null } {
    const stored = this.#dependencies.store.view().get(signingKeysKey)
    if (stored === null) return { keys: null, revision: null }
    return { keys: storedSigningKeys(stored), revision: stored.revision }
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const isStored = await this.#publish().catch((cause: unknown) => {
      // No quorum, no trusted state, or no storage: the next check tries again.
      if (!(cause instanceof StoreError || cause instanceof KeyRingError)) this.#dependencies.onFailure(cause)
      return false
    })
    this.#isLooking = false
    const periodMs = limits.memberKeyCheckMs[isStored ? 'stored' : 'missing']
    if (this.#isClosed || this.#check?.periodMs === periodMs) return
    this.#check?.timer.cancel()
    this.#check = { periodMs, timer: this.#dependencies.clock.every(periodMs, () => void this.#look()) }
  }

  /** @returns whether the key of this member was found in the state */
  async #publish(): Promise<boolean> {
    const { store, clock, member, memberKey, configuration } = this.#dependencies
    // A member that is not in the configuration yet would have its key removed again.
    if (store.identity === null || !membersOf(configuration()).has(member)) return false
    const stored = store.view().get(memberKeyKey(member))
    if (stored !== null && stored.revision === this.#checked) return true
    if (stored !== null && samePublicKey(storedMemberKey(stored).publicKey, memberKey.publicKey)) {
      this.#checked = stored.revision
      return true
    }
    const put = putMemberKey(member, memberKey.publicKey, stored?.revision ?? null)
    await writeKeys(store, [put], clock.monotonicMs() + limits.keyRingWriteMs)
    return false
  }
}

function sealedKey(id: string, privateKey: KeyObject, recipients: readonly Recipient[]): Promise<Sealed> {
  const der = privateKey.export({ type: 'pkcs8', format: 'der' })
  return seal(der, recipients, sealingContext(id))
}

/** Returns the IDs of all members, in decimal. */
export function membersOf(of: Configuration): ReadonlySet<string> {
  const all = [...of.voters, ...(of.votersOutgoing ?? []), ...of.learners, ...of.learnersNext]
  return new Set(all.map(String))
}

function noKeys(): KeyRingError {
  return new KeyRingError(
    'no-keys',
    'there are no shared keys yet: the leader creates the first one, try again',
  )
}
