import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import type { Names } from '../../api/metadata/names.ts'
import { wholeObject } from '../../api/schema/shared.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import type { Admission } from './admission.ts'
import type { Catalog } from '../kinds/catalog.ts'
import type { DefinitionState } from '../kinds/definition-basis.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import type { EventFrames } from '../representations/event-frames.ts'
import type { ByteBudget } from '../shared/byte-budget.ts'
import type { KeyedMutex } from '../shared/keyed-mutex.ts'
import type { KindWatches } from '../kinds/kind-watches.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import type { MembershipChanges } from '../shared/membership-changes.ts'
import type { RegistrySwitches } from './switches.ts'
import type { AccessReviewer } from '../kinds/access-reviewer.ts'
import type { EventRows } from '../representations/table-framing.ts'

/** What the verbs are made of. */
export type VerbDependencies = {
  /** In the version of the request. */
  readonly store: ObjectStore
  /** Objects of all kinds as they are stored. */
  readonly rawStore: ObjectStore
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
  /** Writers of one object that lost a race for it. */
  readonly writers: KeyedMutex
  readonly byteBudget: ByteBudget
  readonly kindWatches: KindWatches
  /** Unset: this server cannot change the membership. */
  readonly membership?: MembershipChanges
  /** Unset: nobody here knows what reviews ask. */
  readonly reviewers?: AccessReviewer
  /**
   * How the definition of the kind is by now. Unset: the kind is the program's own. @throws
   * DefinitionChangedError
   */
  readonly definitionState?: () => DefinitionState
}

/**
 * Each kind's schema with metadata, made when first needed. One per definition, so as many as the
 * catalog has.
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
