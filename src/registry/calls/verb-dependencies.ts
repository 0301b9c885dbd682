import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import type { Names } from '../../api/metadata/names.ts'
import { wholeObject } from '../../api/schema/shared.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { ObjectStore, StoredObject } from '../../store/object-store.ts'
import type { Admission } from './admission.ts'
import type { Catalog } from '../kinds/catalog.ts'
import type { ConvertibleStore } from '../shared/convertible-store.ts'
import type { ComponentHealth } from '../kinds/component-health.ts'
import type { DefinitionState } from '../kinds/definition-basis.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import type { ObjectConverter } from '../kinds/object-converter.ts'
import type { EventFrames } from '../representations/event-frames.ts'
import type { ByteBudget } from '../shared/byte-budget.ts'
import type { KeyedMutex } from '../shared/keyed-mutex.ts'
import type { WritesInFlight } from '../shared/writes-in-flight.ts'
import type { KindWatches } from '../kinds/kind-watches.ts'
import type { WatchedKind, WatchObserver } from '../shared/watch-observer.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import type { MembershipChanges } from '../shared/membership-changes.ts'
import type { RegistrySwitches } from './query-options.ts'
import type { AccessReviewer } from '../kinds/access-reviewer.ts'
import type { TokenIssuer } from '../kinds/token-issuer.ts'
import type { EventRows } from '../representations/table-framing.ts'

/** Dependencies of the verbs. */
export type VerbDependencies = {
  /** The store in the version of the request. */
  readonly store: ConvertibleStore
  /** The store of all kinds, as stored. */
  readonly rawStore: ObjectStore
  /**
   * Whether a write would store an object of `rawStore` in another form, such as encrypted with
   * another key. Unset: never.
   */
  readonly isStale?: (stored: StoredObject) => boolean
  /** Unset: no object is encrypted. */
  readonly encryption?: {
    /** Whether objects of the same resource may be encrypted. */
    readonly concerns: (stored: StoredObject) => boolean
    /**
     * Checks that an object can be decrypted now, with the present keys. One that was decrypted
     * with them before is not decrypted again.
     * @throws SealedObjectError it cannot be decrypted, or not yet
     */
    readonly requireReadable: (stored: StoredObject) => void
  }
  readonly clock: Clock
  readonly random: Random
  readonly names: Names
  readonly catalog: Catalog
  readonly admission: Admission
  readonly limits: RegistryLimits
  readonly switches: RegistrySwitches
  readonly frames: EventFrames
  readonly rows: EventRows
  readonly schemas: WholeSchemas
  /** Locks of objects whose writers lost a race. */
  readonly writers: KeyedMutex
  readonly writesInFlight: WritesInFlight
  readonly byteBudget: ByteBudget
  readonly kindWatches: KindWatches
  /** Begins to measure a watch. Unset: watches are not measured. */
  readonly observeWatch?: (kind: WatchedKind) => WatchObserver
  /** Unset: this server cannot change the membership. */
  readonly membership?: MembershipChanges
  /** Unset: this server cannot evaluate reviews. */
  readonly reviewers?: AccessReviewer
  /** Returns the health of the components of the cluster. Unset: this server knows none. */
  readonly components?: () => readonly ComponentHealth[]
  /** Unset: this server cannot call conversion webhooks. */
  readonly converter?: ObjectConverter
  /** Unset: this server cannot issue tokens. */
  readonly tokens?: TokenIssuer
  /**
   * Returns the current definition of the kind. Unset: a built-in kind. @throws
   * DefinitionChangedError
   */
  readonly definitionState?: () => DefinitionState
}

/**
 * Schemas of kinds including metadata, made on first use. Bounded by the number of definitions in
 * the catalog.
 */
export class WholeSchemas {
  readonly #byDefinition = new WeakMap<object, ObjectSchema>()

  of(definition: Pick<ResourceDefinition, 'schema'>): ObjectSchema {
    let schema = this.#byDefinition.get(definition)
    if (schema === undefined) {
      schema = wholeObject(definition.schema)
      this.#byDefinition.set(definition, schema)
    }
    return schema
  }
}
