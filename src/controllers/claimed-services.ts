import { objectMember, textMember } from '../api/json.ts'
import type { ClaimRules } from '../registry/kinds/claim-rules.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import type { Informer } from '../registry/informer.ts'
import { claimKey } from '../registry/writing/claims.ts'
import type { ClaimOwner } from '../registry/writing/claims.ts'
import { partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'

/** The parts of a stored Service that its claims depend on. */
export type ClaimedService = {
  readonly key: Key
  readonly revision: Revision
  readonly uid: string
  /** RFC 3339. */
  readonly createdAt: string
  /** The keys of the claims of its values. */
  readonly claims: readonly Key[]
}

/** @param rules of Services */
export function claimedServiceOf(
  rules: Pick<ClaimRules, 'plural' | 'valuesOf'>,
  stored: StoredObject,
): ClaimedService {
  const object = parseStored(stored)
  return {
    ...{ key: stored.key, revision: stored.revision, uid: stored.uid },
    createdAt: textMember(objectMember(object, 'metadata'), 'creationTimestamp'),
    claims: rules.valuesOf(object).map((value) => claimKey(rules, value)),
  }
}

/** Returns the owner of a claim, as the record of the claim names it. */
export function ownerOf({ key, uid, createdAt }: ClaimedService): ClaimOwner {
  const { namespace, name } = partsOf(key)
  return { namespace, name, uid, creationTimestamp: createdAt }
}

/** The Services, their claims, and which Services have a value, as this member has applied them. */
export class ClaimedServices {
  readonly #services: Informer<ClaimedService>
  readonly #claims: Informer<string>
  readonly #byClaim = new Map<Key, Map<Key, ClaimedService>>()
  readonly #listeners: ((claim: Key) => void)[] = []

  /** @param claims the uid of each claim */
  constructor(services: Informer<ClaimedService>, claims: Informer<string>) {
    this.#services = services
    this.#claims = claims
    services.subscribe((change) => {
      const before = change.previous?.claims ?? []
      const after = change.kind === 'set' ? change.value.claims : []
      for (const claim of before) this.#remove(claim, change.key)
      if (change.kind === 'set') for (const claim of after) this.#add(claim, change.value)
      for (const claim of new Set([...before, ...after])) this.#notify(claim)
    })
    claims.subscribe(({ key }) => this.#notify(key))
  }

  /** Calls the listener when a claim, or a Service that has or had its value, has changed. */
  onChange(listener: (claim: Key) => void): void {
    this.#listeners.push(listener)
  }

  /** Returns the Services that have a value, the oldest first. */
  holdersOf(claim: Key): readonly ClaimedService[] {
    const all = [...(this.#byClaim.get(claim)?.values() ?? [])]
    return all.sort((a, b) => compare(a.createdAt, b.createdAt) || compare(a.key, b.key))
  }

  /** @returns null: there is no such Service, or this member cannot decrypt it */
  serviceAt(key: Key): ClaimedService | null {
    return this.#services.get(key)
  }

  /** Returns the uid of a claim. @returns null: the value is not claimed */
  uidOf(claim: Key): string | null {
    return this.#claims.get(claim)
  }

  /** Returns the claims of all values that a Service has, and all other claims. */
  *all(): Generator<Key, void> {
    yield* this.#byClaim.keys()
    for (const [claim] of this.#claims.entries()) if (!this.#byClaim.has(claim)) yield claim
  }

  /** Processes everything that this member has applied. @throws StoreError */
  async takeIn(): Promise<void> {
    await Promise.all([this.#services.takeIn(), this.#claims.takeIn()])
  }

  #add(claim: Key, service: ClaimedService): void {
    const known = this.#byClaim.get(claim)
    if (known === undefined) this.#byClaim.set(claim, new Map([[service.key, service]]))
    else known.set(service.key, service)
  }

  #remove(claim: Key, service: Key): void {
    const known = this.#byClaim.get(claim)
    known?.delete(service)
    if (known?.size === 0) this.#byClaim.delete(claim)
  }

  #notify(claim: Key): void {
    for (const listener of this.#listeners) listener(claim)
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
