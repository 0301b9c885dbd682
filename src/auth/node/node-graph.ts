import type { InformerChange } from '../../registry/informer.ts'
import { isClaim } from '../../registry/kinds/node-references.ts'
import type { PodReferences, Reference, VolumeReferences } from '../../registry/kinds/node-references.ts'

/** The part of an informer that the graph follows. */
type Followed<T> = { subscribe(listener: (change: InformerChange<T>) => void): () => void }

export type NodeGraphDependencies = {
  readonly pods: Followed<PodReferences>
  readonly volumes: Followed<NamedVolume>
  readonly attachments: Followed<Attachment>
}

export type NamedVolume = VolumeReferences & { readonly name: string }

/** A VolumeAttachment and its node. */
export type Attachment = { readonly name: string; readonly node: string }

/**
 * Which objects each node needs for its Pods: those that the Pods refer to, the volumes of their
 * claims, the Secrets of these volumes, and the node's own attachments. Follows what this member
 * has applied. The stored objects bound its size.
 *
 * @source upstream `plugin/pkg/auth/authorizer/node/graph.go`
 */
export class NodeGraph {
  #version = 0
  /** By node, the number of its Pods that refer to each object. */
  readonly #references = new Map<string, Map<Reference, number>>()
  /** By node, the claims among its references. */
  readonly #claims = new Map<string, Set<Reference>>()
  readonly #volumes = new Map<string, NamedVolume>()
  readonly #volumesByClaim = new Map<Reference, Set<NamedVolume>>()
  readonly #attachments = new Map<string, string>()

  constructor({ pods, volumes, attachments }: NodeGraphDependencies) {
    pods.subscribe((change) => {
      // The new references are added first, so that those in both are never without a count.
      if (change.kind === 'set') this.#addPod(change.value)
      if (change.previous !== null) this.#removePod(change.previous)
    })
    volumes.subscribe((change) => {
      if (change.previous !== null) this.#removeVolume(change.previous)
      if (change.kind === 'set') this.#addVolume(change.value)
    })
    attachments.subscribe((change) => {
      if (change.previous !== null) {
        this.#attachments.delete(change.previous.name)
        this.#version++
      }
      if (change.kind === 'set') this.#attachments.set(change.value.name, change.value.node)
    })
  }

  /** Changes whenever a node may have lost a permission. */
  get version(): number {
    return this.#version
  }

  /** Whether a Pod of the node refers to the object, directly or by a volume of its claims. */
  needs(node: string, reference: Reference): boolean {
    if (this.#references.get(node)?.has(reference) === true) return true
    for (const claim of this.#claims.get(node) ?? []) {
      for (const { secrets } of this.#volumesByClaim.get(claim) ?? []) {
        if (secrets.includes(reference)) return true
      }
    }
    return false
  }

  /** Whether a Pod of the node uses the claim of the volume. */
  needsVolume(node: string, name: string): boolean {
    const claim = this.#volumes.get(name)?.claim ?? null
    return claim !== null && this.#claims.get(node)?.has(claim) === true
  }

  isAttachedTo(node: string, attachment: string): boolean {
    return this.#attachments.get(attachment) === node
  }

  #addPod({ node, references }: PodReferences): void {
    if (references.length === 0) return
    const counts = this.#references.get(node) ?? new Map<Reference, number>()
    this.#references.set(node, counts)
    for (const reference of references) {
      counts.set(reference, (counts.get(reference) ?? 0) + 1)
      if (isClaim(reference)) addTo(this.#claims, node, reference)
    }
  }

  #removePod({ node, references }: PodReferences): void {
    const counts = this.#references.get(node)
    if (counts === undefined) return
    for (const reference of references) {
      const left = (counts.get(reference) ?? 1) - 1
      if (left > 0) {
        counts.set(reference, left)
        continue
      }
      this.#version++
      counts.delete(reference)
      if (isClaim(reference)) removeFrom(this.#claims, node, reference)
    }
    if (counts.size === 0) this.#references.delete(node)
  }

  #addVolume(volume: NamedVolume): void {
    this.#volumes.set(volume.name, volume)
    if (volume.claim !== null) addTo(this.#volumesByClaim, volume.claim, volume)
  }

  #removeVolume(volume: NamedVolume): void {
    this.#version++
    this.#volumes.delete(volume.name)
    if (volume.claim !== null) removeFrom(this.#volumesByClaim, volume.claim, volume)
  }
}

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const known = sets.get(key)
  if (known === undefined) sets.set(key, new Set([value]))
  else known.add(value)
}

function removeFrom<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const known = sets.get(key)
  known?.delete(value)
  if (known?.size === 0) sets.delete(key)
}
