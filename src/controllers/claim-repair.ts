import type { Clock } from '../../base/clock.ts'
import { serviceUnavailable } from '../api/errors/standard-errors.ts'
import type { ClaimedValue } from '../registry/kinds/claim-rules.ts'
import { claimOperation, claimUid, ownerOfClaim } from '../registry/writing/claims.ts'
import type { ServiceRanges } from '../resources/services/service-ranges.ts'
import type { Condition, Operation } from '../store/command.ts'
import { keyOf, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { customKindsLevel } from '../store/machine/feature-level.ts'
import type { ObjectStore, StoredObject, View } from '../store/object-store.ts'
import { alreadyAllocated, notAllocated, outOfRange } from './claim-findings.ts'
import { ownerOf } from './claimed-services.ts'
import type { ClaimedService, ClaimedServices } from './claimed-services.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventSubject, EventText } from './event-object.ts'
import type { EventRecorder } from './event-recorder.ts'

export type ClaimRepairCounts = {
  /** Claims that were created or transferred because a Service had the value without one. */
  restored: number
  /** Claims that were deleted because no Service had the value. */
  released: number
}

export type ClaimRepairDependencies = {
  readonly clock: Clock
  readonly store: Pick<ObjectStore, 'view' | 'write' | 'featureLevel'>
  /** The sets of values to repair; see `ClaimedValue`. */
  readonly sets: readonly string[]
  readonly ranges: ServiceRanges
  readonly claimed: ClaimedServices
  readonly events: Pick<EventRecorder, 'record'>
  readonly counts: ClaimRepairCounts
  readonly timeoutMs: number
  /** Called when the claim of a value that no Service has was deleted. */
  readonly onReleased: (value: ClaimedValue) => void
  readonly onError: (key: string, cause: unknown) => void
}

/**
 * Repairs the claims of Services: a value that a Service has without a claim is claimed, a claim
 * whose value no Service has is deleted, and a value of several Services, or outside of the ranges,
 * is reported as an Event. Works when the member begins to lead and when a Service or a claim
 * changes, not periodically.
 *
 * @source upstream `pkg/registry/core/service/ipallocator/controller/repair.go` and
 * `pkg/registry/core/service/portallocator/controller/repair.go`
 */
export function claimRepair(dependencies: ClaimRepairDependencies): Controller {
  const { clock, sets, claimed, onError } = dependencies
  const repair = new ClaimRepair(dependencies)
  const needsRepair = (claim: Key): boolean => sets.includes(valueOf(claim).set) && repair.isSuspect(claim)
  const controller = new Controller({
    ...{ clock, onError },
    keys: () => repair.suspects(needsRepair),
    reconcile: (key) => repair.reconcile(key as Key),
  })
  claimed.onChange((claim) => {
    if (needsRepair(claim)) controller.enqueue(claim)
  })
  return controller
}

/** A claim and the Services that have its value, in one state of the store. */
type ClaimState = {
  readonly claim: StoredObject | null
  /** The oldest first. */
  readonly holders: readonly ClaimedService[]
  /** The Service of the claim. null: no claim, or its Service is gone or lacks the value */
  readonly owner: ClaimedService | null
  /** The conditions of a repair: the Services that it is based on have not changed. */
  readonly conditions: readonly Condition[]
}

class ClaimRepair {
  readonly #dependencies: ClaimRepairDependencies
  /** The recorded Events about values that cannot be repaired, by claim. Bounded by the claims. */
  readonly #reported = new Map<Key, ReadonlySet<string>>()

  constructor(dependencies: ClaimRepairDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the claims that may need repair. A new leader repeats the Events about values. */
  *suspects(needsRepair: (claim: Key) => boolean): Generator<Key, void> {
    this.#reported.clear()
    for (const claim of this.#dependencies.claimed.all()) if (needsRepair(claim)) yield claim
  }

  /** Whether `reconcile` may have work. The informers may be at different revisions. */
  isSuspect(claim: Key): boolean {
    const { claimed, ranges } = this.#dependencies
    const holders = claimed.holdersOf(claim)
    const [only] = holders
    if (only === undefined) return claimed.uidOf(claim) !== null || this.#reported.has(claim)
    if (holders.length > 1 || claimed.uidOf(claim) !== claimUid(only)) return true
    return outOfRange(ranges, valueOf(claim)) !== null || this.#reported.has(claim)
  }

  async reconcile(key: Key): Promise<Reconciled> {
    const { store, claimed, counts, events, onReleased } = this.#dependencies
    // The feature level is too low, as after a restore from a snapshot of an older version. It
    // rises soon.
    if (store.featureLevel < customKindsLevel) return { kind: 'again' }
    await claimed.takeIn()
    const state = this.#claimState(store.view(), key)
    if ('kind' in state) return state
    const { claim, holders, owner } = state
    const [oldest] = holders
    this.#report(key, holders, owner ?? oldest ?? null)
    if (owner !== null || (claim === null && oldest === undefined)) return { kind: 'done' }
    if (!(await this.#write(repairOf(key, state)))) return { kind: 'again' }
    if (oldest === undefined) {
      counts.released++
      onReleased(valueOf(key))
    } else {
      counts.restored++
      events.record(subject(oldest), notAllocated(valueOf(key)))
    }
    return { kind: 'done' }
  }

  /** @returns `again`: the informers lag behind the store; `done`: a Service cannot be decrypted */
  #claimState(view: View, key: Key): ClaimState | Reconciled {
    const { claimed } = this.#dependencies
    const holders = claimed.holdersOf(key)
    if (holders.some((holder) => view.get(holder.key)?.revision !== holder.revision)) return { kind: 'again' }
    const claim = view.get(key)
    const owner = holders.find((holder) => claimUid(holder) === claim?.uid) ?? null
    const [oldest] = holders
    const conditions = oldest === undefined ? [] : [isAt(oldest)]
    if (claim === null || owner !== null) return { claim, holders, owner, conditions }
    const named = keyOf({ group: '', plural: 'services', ...ownerOfClaim(claim) })
    const stored = view.get(named)
    if (stored === null || claimUid(stored) !== claim.uid) return { claim, holders, owner, conditions }
    const former = claimed.serviceAt(named)
    // This member cannot decrypt the Service, which may have the value.
    if (former === null) return { kind: 'done' }
    if (former.revision !== stored.revision) return { kind: 'again' }
    return { claim, holders, owner, conditions: [...conditions, isAt(former)] }
  }

  /** Returns whether it took effect. @throws StoreError; ApiError when the storage is full */
  async #write(operation: Operation): Promise<boolean> {
    const { store, clock, timeoutMs } = this.#dependencies
    const command = { kind: 'write', operations: [operation] } as const
    const outcome = await store.write(command, clock.monotonicMs() + timeoutMs)
    if (outcome.kind === 'over-quota')
      throw serviceUnavailable('the storage is full: delete objects or raise the quota first')
    return outcome.kind === 'done'
  }

  /** Records each problem that only a user can repair, once until the next call of `suspects`. */
  #report(key: Key, holders: readonly ClaimedService[], rightful: ClaimedService | null): void {
    const { ranges, events } = this.#dependencies
    const value = valueOf(key)
    const before = this.#reported.get(key)
    const now = new Set<string>()
    for (const holder of holders) {
      const texts: readonly (EventText | null)[] = [
        holder === rightful ? null : alreadyAllocated(value),
        outOfRange(ranges, value),
      ]
      for (const text of texts) {
        if (text === null) continue
        const identity = `${holder.uid} ${text.reason}`
        now.add(identity)
        if (before?.has(identity) !== true) events.record(subject(holder), text)
      }
    }
    if (now.size === 0) this.#reported.delete(key)
    else this.#reported.set(key, now)
  }
}

function repairOf(key: Key, { claim, holders, conditions }: ClaimState): Operation {
  const [oldest] = holders
  const isUnchanged: Condition = claim === null ? { kind: 'absent' } : { kind: 'uid-is', uid: claim.uid }
  const all = [isUnchanged, ...conditions]
  return oldest === undefined
    ? { kind: 'delete', key, conditions: all }
    : claimOperation(key, ownerOf(oldest), all)
}

function isAt({ key, revision }: ClaimedService): Condition {
  return { kind: 'other-revision-is', key, revision }
}

function valueOf(claim: Key): ClaimedValue {
  const { namespace, name } = partsOf(claim)
  return { set: namespace, value: name }
}

function subject({ key, uid }: ClaimedService): EventSubject {
  const { namespace, name } = partsOf(key)
  return { apiVersion: 'v1', kind: 'Service', namespace, name, uid }
}
