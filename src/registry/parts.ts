import type { Clock } from '../../raft/base/clock.ts'
import type { Random } from '../../raft/base/random.ts'
import type { Names } from '../api/names.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { Admission } from './admission.ts'
import type { Catalog } from './catalog.ts'
import type { RegistryLimits } from './limits.ts'

/** What the verbs are made of. */
export type RegistryParts = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly random: Random
  readonly names: Names
  readonly catalog: Catalog
  readonly admission: Admission
  readonly limits: RegistryLimits
}
