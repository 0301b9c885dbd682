import type { InformerChange } from '../registry/informer.ts'
import { keyOfReference, referenceTo } from '../registry/kinds/node-references.ts'
import type { Reference } from '../registry/kinds/node-references.ts'
import { partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { PodSummary } from './pod-summary.ts'

/**
 * The Pods by node, by claim, and those that have ended, unless they are deleted without a grace
 * period. Bounded by the number of Pods.
 */
export class PodIndex {
  readonly #byNode = new Map<string, Set<Key>>()
  readonly #byClaim = new Map<Reference, Set<Key>>()
  readonly #ended = new Map<Key, PodSummary>()

  /** Replaces what is known of a Pod. */
  change(key: Key, before: PodSummary | null, after: PodSummary | null): void {
    if (before !== null) this.#remove(key, before)
    if (after !== null) this.#add(key, after)
  }

  /** The nodes that Pods are bound to. */
  nodes(): Iterable<string> {
    return this.#byNode.keys()
  }

  hasPodsOn(node: string): boolean {
    return this.#byNode.has(node)
  }

  podsOn(node: string): readonly Key[] {
    return [...(this.#byNode.get(node) ?? [])]
  }

  isUsed(claim: Reference): boolean {
    return this.#byClaim.has(claim)
  }

  /** Returns the Pods that use a claim. */
  usersOf(claim: Reference): readonly Key[] {
    return [...(this.#byClaim.get(claim) ?? [])]
  }

  get endedCount(): number {
    return this.#ended.size
  }

  /** Returns the oldest of those that have ended. */
  oldestEnded(count: number): readonly Key[] {
    const byAge = [...this.#ended].sort(([, a], [, b]) => a.createdMs - b.createdMs)
    return byAge.slice(0, count).map(([key]) => key)
  }

  #add(key: Key, pod: PodSummary): void {
    if (pod.node !== '') addTo(this.#byNode, pod.node, key)
    for (const claim of pod.claims) addTo(this.#byClaim, claim, key)
    if (pod.ended && !pod.forced) this.#ended.set(key, pod)
  }

  #remove(key: Key, pod: PodSummary): void {
    removeFrom(this.#byNode, pod.node, key)
    for (const claim of pod.claims) removeFrom(this.#byClaim, claim, key)
    this.#ended.delete(key)
  }
}

/** Returns the reference of Pods to a claim. */
export function claimOf(key: Key): Reference {
  const { namespace, name } = partsOf(key)
  return referenceTo('persistentvolumeclaims', namespace, name)
}

/** Returns the claims of a changed Pod that no Pod uses now. @param index contains the change */
export function releasedClaims(index: PodIndex, { previous }: InformerChange<PodSummary>): readonly Key[] {
  const claims = previous?.claims ?? []
  return claims.filter((claim) => !index.isUsed(claim)).map(keyOfReference)
}

function addTo(map: Map<string, Set<Key>>, under: string, key: Key): void {
  const known = map.get(under)
  if (known === undefined) map.set(under, new Set([key]))
  else known.add(key)
}

function removeFrom(map: Map<string, Set<Key>>, under: string, key: Key): void {
  const known = map.get(under)
  if (known?.delete(key) === true && known.size === 0) map.delete(under)
}
