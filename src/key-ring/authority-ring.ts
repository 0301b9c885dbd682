import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Configuration } from '../../raft/index.ts'
import { limits } from '../config/limits.ts'
import { createAuthority } from '../pki/authority.ts'
import { generateKeyPair } from '../pki/keys.ts'
import { needsLevel, nextAuthorityLevel } from '../store/machine/feature-level.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import { nextAuthority, signingAuthority, whyNot } from './authority-stages.ts'
import { withAuthority, withNext, withPromoted, withoutEarlier, withoutNext } from './authority-stages.ts'
import type { RotationStep, SharedAuthority } from './authority-stages.ts'
import { authorityMs, authorityWork, withSealedKey } from './cluster-authorities.ts'
import type { AuthorityWork } from './cluster-authorities.ts'
import { KeyRingError } from './errors.ts'
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
/** Attempts of a change under concurrent changes. */
const attemptsMax = 5

/**
 * Maintains the authority that signs certificate signing requests where no files name one: creates
 * it, seals its key for members that join, and replaces it long before it expires, or in three
 * steps when an operator asks. Seals for the public keys that `KeyRing` publishes.
 */
export class AuthorityRing {
  readonly #dependencies: AuthorityRingDependencies

  constructor(dependencies: AuthorityRingDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the authorities with each change that was acknowledged. @throws StoreError */
  async read(deadlineMs: number): Promise<readonly SharedAuthority[]> {
    await this.#dependencies.store.barrier(deadlineMs)
    return this.#stored().authorities
  }

  /**
   * Takes a step of replacing the authority that signs.
   *
   * @throws KeyRingError `no-keys`, `wrong-phase`, `feature-level`, `conflict`, `storage`,
   * `too-large`; StoreError
   */
  async rotate(step: RotationStep, deadlineMs: number): Promise<readonly SharedAuthority[]> {
    const { store } = this.#dependencies
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      await store.barrier(deadlineMs)
      const { authorities, revision } = this.#stored()
      if (authorities.length === 0) {
        throw new KeyRingError(
          'no-keys',
          'there is no signing authority yet: the leader creates it, try again',
        )
      }
      const why = whyNot(step, authorities)
      if (why !== null) throw new KeyRingError('wrong-phase', why)
      if (step === 'announce') checkLevel(store)
      const next = await this.#stepped(step, authorities)
      if (await writeKeys(store, [putAuthorities(next, revision)], deadlineMs)) return next
    }
    throw new KeyRingError('conflict', 'the authorities were not changed: there were concurrent changes')
  }

  async #stepped(
    step: RotationStep,
    authorities: readonly SharedAuthority[],
  ): Promise<readonly SharedAuthority[]> {
    switch (step) {
      case 'announce':
        return withNext(authorities, await this.#newAuthority(this.#recipients()))
      case 'promote':
        return withPromoted(authorities)
      case 'finish':
        return withoutEarlier(authorities)
    }
  }

  #recipients(): readonly Recipient[] {
    const members = membersOf(this.#dependencies.configuration())
    return memberKeysIn(this.#dependencies.store.view()).filter((one) => members.has(one.member))
  }

  #stored(): { readonly authorities: readonly SharedAuthority[]; readonly revision: Revision | null } {
    const stored = this.#dependencies.store.view().get(authoritiesKey)
    if (stored === null) return { authorities: [], revision: null }
    return { authorities: storedAuthorities(stored), revision: stored.revision }
  }

  /** Takes the next step; for the leader. @returns false: there may be more to do */
  async maintain(): Promise<boolean> {
    const { store, clock, shared, member } = this.#dependencies
    const deadlineMs = clock.monotonicMs() + limits.keyRingWriteMs
    await store.barrier(deadlineMs)
    // A key that is still being opened would look like one that cannot be opened.
    await shared.untilCurrent()
    const recipients = this.#recipients()
    // The first authority waits for its first recipient: this member.
    if (!recipients.some((one) => one.member === member)) return false
    const { authorities, revision } = this.#stored()
    const canOpen = (id: string): boolean => shared.canOpen(id)
    const work = authorityWork(authorities, { recipients, canOpen, nowMs: clock.wallMs() })
    if (work === null) return true
    const next = await this.#worked(work, authorities, recipients)
    await writeKeys(store, [putAuthorities(next, revision)], deadlineMs)
    return false
  }

  async #worked(
    work: AuthorityWork,
    authorities: readonly SharedAuthority[],
    recipients: readonly Recipient[],
  ): Promise<readonly SharedAuthority[]> {
    switch (work) {
      case 'create':
        // A next authority cannot be used either, and has not signed anything.
        return withAuthority(withoutNext(authorities), await this.#newAuthority(recipients))
      case 'promote':
        return withPromoted(authorities)
      case 'withdraw':
        return withoutNext(authorities)
      case 'seal':
      case 'seal-next': {
        const one = work === 'seal' ? signingAuthority(authorities) : nextAuthority(authorities)
        const key = one === null ? undefined : this.#dependencies.shared.authority(one.id)?.privateKey
        // The key was there when the step was decided on, and may be gone: it is decided again.
        if (one === null || key === undefined) return authorities
        return withSealedKey(authorities, one.id, await sealedKey(one.id, key, recipients))
      }
    }
  }

  async #newAuthority(recipients: readonly Recipient[]): Promise<SharedAuthority> {
    const nowMs = Math.floor(this.#dependencies.clock.wallMs())
    const keys = generateKeyPair()
    const id = fingerprint(keys.publicKey)
    const validity = { notBeforeMs: nowMs - clockSkewMs, notAfterMs: nowMs + authorityMs }
    const { random } = this.#dependencies
    const { certificatePem, certificate } = createAuthority({ ...validity, commonName, random, keys })
    const sealed = await sealedKey(id, keys.privateKey, recipients)
    return { id, certificate: certificatePem, notAfterMs: certificate.notAfterMs, sealed, stage: null }
  }
}

/** @throws KeyRingError `feature-level` */
function checkLevel({ featureLevel }: ObjectStore): void {
  if (featureLevel >= nextAuthorityLevel) return
  const what = 'replacing the signing authority'
  throw new KeyRingError('feature-level', needsLevel(what, nextAuthorityLevel, featureLevel))
}

function sealedKey(id: string, privateKey: KeyObject, recipients: readonly Recipient[]): Promise<Sealed> {
  const der = privateKey.export({ type: 'pkcs8', format: 'der' })
  return seal(der, recipients, authoritySealingContext(id))
}
