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

export type CustomKindSyncDependencies = {
  readonly clock: Clock
  readonly log: Logger
  readonly names: Names
  readonly catalog: Catalog
  /** All definitions; the informer is started here, after all listeners are registered. */
  readonly definitions: Informer<KnownDefinition>
  /** Returns the kinds of a definition, one per served version. Pure. */
  readonly kindsOf: (definition: AnyObject, names: Names) => readonly ResourceDefinition[]
}

/** The kinds made of a definition, and the definition they were made of. */
type Made = {
  readonly uid: string
  readonly generation: number
  readonly accepted: DefinitionNames
  readonly kinds: readonly ResourceDefinition[]
  readonly objects: ResourceDefinition
}

/**
 * Keeps this member's catalog in sync with the definitions it has applied. The kinds of a
 * definition are rebuilt once per change of its spec or of its accepted names; an invalid
 * definition is logged and not served: stored data never stops a member. The number of served
 * definitions is bounded by the controller of their names.
 */
export class CustomKindSync {
  readonly #dependencies: CustomKindSyncDependencies
  /** By name of the definition. */
  readonly #made = new Map<string, Made>()
  #leftOut: ReadonlySet<string> = new Set()
  #isDirty = false
  readonly #unsubscribe: () => void

  constructor(dependencies: CustomKindSyncDependencies) {
    this.#dependencies = dependencies
    this.#unsubscribe = dependencies.definitions.subscribe((change) => this.#see(change))
  }

  /** Reads the existing definitions. To be called before the first client is served. */
  start(): void {
    this.#dependencies.definitions.start()
    this.#publish()
  }

  /**
   * Resolves once the catalog contains all that this member has applied by now.
   * @throws StoreError `quarantined`, `stopped`
   */
  async untilCurrent(): Promise<void> {
    await this.#dependencies.definitions.takeIn()
    this.#publish()
  }

  close(): void {
    this.#unsubscribe()
    this.#dependencies.definitions.close()
  }

  #see(change: InformerChange<KnownDefinition>): void {
    const isChanged =
      change.kind === 'set' ? this.#take(change.value) : this.#made.delete(change.previous.name)
    if (!isChanged || this.#isDirty) return
    this.#isDirty = true
    // Many changes in one turn are published as one change of the catalog.
    this.#dependencies.clock.soon(() => this.#publish())
  }

  /** Returns whether the kinds changed. */
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
    const { names, log, kindsOf } = this.#dependencies
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
    // In the same order on every member.
    const inOrder = [...this.#made].sort(([a], [b]) => (a < b ? -1 : 1))
    const leftOut = this.#dependencies.catalog.setCustom(
      inOrder.flatMap(([, { kinds }]) => kinds),
      inOrder.map(([, { objects }]) => objects),
    )
    const paths = leftOut.map(({ group, version, plural }) => `${group}/${version}/${plural}`)
    for (const path of paths.filter((one) => !this.#leftOut.has(one))) {
      this.#dependencies.log.warn({ path }, 'custom kind not served: the server has a built-in kind there')
    }
    this.#leftOut = new Set(paths)
  }
}

function isSame(a: DefinitionNames, b: DefinitionNames): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
