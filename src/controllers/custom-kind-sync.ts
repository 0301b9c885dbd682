import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import { objectsOf } from './custom-definition-objects.ts'
import { isEstablished } from './custom-definition-summary.ts'
import type { DefinitionNames, KnownDefinition } from './custom-definition-summary.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { parseBytes } from '../registry/kinds/encode.ts'
import type { Informer, InformerChange } from '../registry/informer.ts'

export type CustomKindSyncParts = {
  readonly clock: Clock
  readonly log: Logger
  readonly names: Names
  readonly catalog: Catalog
  /** All definitions; started here, once everybody listens. */
  readonly definitions: Informer<KnownDefinition>
  /** The kinds that a definition makes, one for each version that is served. Pure. */
  readonly kindsOf: (definition: AnyObject, names: Names) => readonly ResourceDefinition[]
}

/** What was made of a definition, and of which. */
type Made = {
  readonly uid: string
  readonly generation: number
  readonly accepted: DefinitionNames
  readonly kinds: readonly ResourceDefinition[]
  readonly objects: ResourceDefinition
}

/**
 * Keeps this member's catalog at what the definitions say that it has applied. One that is written is made into kinds once
 * for each change of what it asks for; a definition that cannot be is not served, and the log says why: what is stored never
 * ends a member. As many are kept as the controller of their names establishes.
 */
export class CustomKindSync {
  readonly #parts: CustomKindSyncParts
  /** By name of the definition. */
  readonly #made = new Map<string, Made>()
  #leftOut: ReadonlySet<string> = new Set()
  #isDirty = false
  readonly #unsubscribe: () => void

  constructor(parts: CustomKindSyncParts) {
    this.#parts = parts
    this.#unsubscribe = parts.definitions.subscribe((change) => this.#see(change))
  }

  /** Takes in what is there. Before the first client is served. */
  start(): void {
    this.#parts.definitions.start()
    this.#publish()
  }

  /** Once the catalog has all that this member has applied by now. @throws StoreError there is no state to follow */
  async takenIn(): Promise<void> {
    await this.#parts.definitions.takeIn()
    this.#publish()
  }

  close(): void {
    this.#unsubscribe()
    this.#parts.definitions.close()
  }

  #see(change: InformerChange<KnownDefinition>): void {
    const isChanged =
      change.kind === 'set' ? this.#take(change.value) : this.#made.delete(change.previous.name)
    if (!isChanged || this.#isDirty) return
    this.#isDirty = true
    // Many that come together are one change of the catalog.
    this.#parts.clock.soon(() => this.#publish())
  }

  /** @returns whether the kinds are others now */
  #take(definition: KnownDefinition): boolean {
    const { name, uid, generation, accepted } = definition
    if (!isEstablished(definition)) return this.#made.delete(name)
    const known = this.#made.get(name)
    if (known?.uid === uid && known.generation === generation && isSame(known.accepted, accepted))
      return false
    const kinds = this.#make(definition)
    this.#made.set(name, { uid, generation, accepted, kinds, objects: objectsOf(definition) })
    return true
  }

  #make({ name, generation, uid, bytes }: KnownDefinition): readonly ResourceDefinition[] {
    const { names, log, kindsOf } = this.#parts
    try {
      return kindsOf(parseBytes(bytes), names)
    } catch (cause) {
      log.error({ definition: name, uid, generation, err: cause }, 'definition not served: it cannot be read')
      return []
    }
  }

  #publish(): void {
    if (!this.#isDirty) return
    this.#isDirty = false
    // As every member has them.
    const inOrder = [...this.#made].sort(([a], [b]) => (a < b ? -1 : 1))
    const leftOut = this.#parts.catalog.setCustom(
      inOrder.flatMap(([, { kinds }]) => kinds),
      inOrder.map(([, { objects }]) => objects),
    )
    const paths = leftOut.map(({ group, version, plural }) => `${group}/${version}/${plural}`)
    for (const path of paths.filter((one) => !this.#leftOut.has(one))) {
      this.#parts.log.warn({ path }, 'custom kind not served: the server has one of its own there')
    }
    this.#leftOut = new Set(paths)
  }
}

function isSame(a: DefinitionNames, b: DefinitionNames): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
