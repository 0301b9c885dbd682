/**
 * Creations and deletions of Pods that the cache of a controller does not show yet. Until it does,
 * the ReplicaSet is neither enlarged nor reduced: a stale cache leads to no duplicates. Upstream
 * counts creations; here each has an ID, so that the event of a creation whose response was lost is
 * not taken for another one.
 */
export class Expectations {
  readonly #creations = new Map<string, Set<string>>()
  readonly #deletions = new Map<string, Set<string>>()

  isSatisfied(key: string): boolean {
    return [this.#creations, this.#deletions].every((of) => (of.get(key)?.size ?? 0) === 0)
  }

  expectCreations(key: string, ids: readonly string[]): void {
    this.#creations.set(key, new Set(ids))
  }

  expectDeletions(key: string, uids: readonly string[]): void {
    this.#deletions.set(key, new Set(uids))
  }

  /** The cache shows the Pod, or its creation failed. */
  creationObserved(key: string, id: string): void {
    this.#creations.get(key)?.delete(id)
  }

  /** The cache shows the deletion, or it failed. */
  deletionObserved(key: string, uid: string): void {
    this.#deletions.get(key)?.delete(uid)
  }

  forget(key: string): void {
    this.#creations.delete(key)
    this.#deletions.delete(key)
  }
}
