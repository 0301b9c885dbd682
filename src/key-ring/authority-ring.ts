import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Configuration } from '../../raft/index.ts'
import { limits } from '../config/limits.ts'
import { createAuthority } from '../pki/authority.ts'
import { generateKeyPair } from '../pki/keys.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { authorityMs, authorityWork, withAuthority, withSealedKey } from './cluster-authorities.ts'
import type { AuthorityWork, SharedAuthority } from './cluster-authorities.ts'
import { membersOf } from './key-ring.ts'
import { fingerprint, seal } from './sealing.ts'
import type { Recipient, Sealed } from './sealing.ts'
import { authoritySealingContext } from './shared-authorities.ts'
import type { SharedAuthorities } from './shared-authorities.ts'
import { authoritiesKey, putAuthorities, storedAuthorities } from './stored-authorities.ts'
import { memberKeysIn, writeKeys } from './stored-keys.ts'

export type AuthorityRingDependencies = {
  readonly store: ObjectStore
  readonly clock: Clock
  /** Draws serial numbers. */
  readonly random: Random
  /** ID of this member in decimal. */
  readonly member: string
  readonly shared: SharedAuthorities
  /** The members of the cluster, as this member has applied them. */
  readonly configuration: () => Configuration
}

const commonName = 'orch cluster signing authority'
/** Maximum difference between the clocks of two machines. */
const clockSkewMs = 5 * 60 * 1000

/**
 * Maintains the authority that signs certificate signing requests where no files name one: creates
 * it, seals its key for members that join, and replaces it long before it expires. Seals for the
 * public keys that `KeyRing` publishes.
 */
export class AuthorityRing {
  readonly #dependencies: AuthorityRingDependencies

  constructor(dependencies: AuthorityRingDependencies) {
    this.#dependencies = dependencies
  }

  /** Takes the next step; for the leader. @returns false: there may be more to do */
  async maintain(): Promise<boolean> {
    const { store, clock, shared, member, configuration } = this.#dependencies
    const deadlineMs = clock.monotonicMs() + limits.keyRingWriteMs
    await store.barrier(deadlineMs)
    // A key that is still being opened would look like one that cannot be opened.
    await shared.untilCurrent()
    const members = membersOf(configuration())
    const recipients = memberKeysIn(store.view()).filter((one) => members.has(one.member))
    // The first authority waits for its first recipient: this member.
    if (!recipients.some((one) => one.member === member)) return false
    const stored = store.view().get(authoritiesKey)
    const authorities = stored === null ? [] : storedAuthorities(stored)
    const canOpen = (id: string): boolean => shared.canOpen(id)
    const work = authorityWork(authorities, { recipients, canOpen, nowMs: clock.wallMs() })
    if (work === null) return true
    const next = await this.#worked(work, authorities, recipients)
    await writeKeys(store, [putAuthorities(next, stored?.revision ?? null)], deadlineMs)
    return false
  }

  async #worked(
    work: AuthorityWork,
    authorities: readonly SharedAuthority[],
    recipients: readonly Recipient[],
  ): Promise<readonly SharedAuthority[]> {
    const { shared, clock } = this.#dependencies
    const last = authorities.at(-1)
    const key = shared.signer?.privateKey
    if (work === 'seal' && last !== undefined && key !== undefined) {
      return withSealedKey(authorities, last.id, await sealedKey(last.id, key, recipients))
    }
    const nowMs = Math.floor(clock.wallMs())
    return withAuthority(authorities, await this.#newAuthority(recipients, nowMs))
  }

  async #newAuthority(recipients: readonly Recipient[], nowMs: number): Promise<SharedAuthority> {
    const keys = generateKeyPair()
    const id = fingerprint(keys.publicKey)
    const validity = { notBeforeMs: nowMs - clockSkewMs, notAfterMs: nowMs + authorityMs }
    const { random } = this.#dependencies
    const { certificatePem, certificate } = createAuthority({ ...validity, commonName, random, keys })
    const sealed = await sealedKey(id, keys.privateKey, recipients)
    return { id, certificate: certificatePem, notAfterMs: certificate.notAfterMs, sealed }
  }
}

function sealedKey(id: string, privateKey: KeyObject, recipients: readonly Recipient[]): Promise<Sealed> {
  const der = privateKey.export({ type: 'pkcs8', format: 'der' })
  return seal(der, recipients, authoritySealingContext(id))
}
