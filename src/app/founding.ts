import type { Consensus } from '../../raft/index.ts'
import type { Names } from '../api/metadata/names.ts'
import { limits } from '../config/limits.ts'
import { Bootstrap } from '../controllers/bootstrap.ts'
import type { ExpectedObject } from '../controllers/default-policy.ts'
import { newObject } from '../controllers/initial-objects.ts'
import type { EncryptedStore } from '../encryption/encrypted-store.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import { WholeSchemas } from '../registry/calls/verb-dependencies.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { foundingOperation } from '../registry/writing/founding-operation.ts'
import type { FoundingDependencies } from '../registry/writing/founding-operation.ts'
import { bootstrapOperations } from '../resources/bootstrap-objects.ts'
import type { Operation, Outcome } from '../store/command.ts'
import type { Key } from '../store/key.ts'
import { storageRulesLevel } from '../store/machine/feature-level.ts'
import type { MemberContext } from './context.ts'
import { initialObjectsOf } from './controllers/policy.ts'

export type FoundingParts = {
  readonly store: EncryptedStore
  readonly consensus: Consensus<Outcome>
  readonly keys: MemberKeys
  readonly catalog: Catalog
  readonly policy: readonly ExpectedObject[]
}

/**
 * Starts what gives a new cluster its identity, settings and first objects. Every member starts it;
 * only the leader proposes the command.
 */
export function startFounding(site: MemberContext, parts: FoundingParts): Bootstrap {
  const { clock, random, onFatal, config, names, closing } = site
  const { store, consensus, keys, catalog, policy } = parts
  const featureLevelMax = config['feature-level-max']
  const bootstrap = new Bootstrap({
    ...{ store, consensus, clock, random, names },
    operations: () =>
      foundingOperations({
        ...{ clock, random, names, catalog, policy },
        schemas: new WholeSchemas(),
        featureLevel: featureLevelMax,
        isEncrypted: (key) => store.keys.of(key) !== null,
      }),
    fingerprints: keys.fingerprints,
    settings: {
      historyWindowMs: config['initial-history-window'],
      historyEventsMin: config['initial-history-events-min'],
      objectBytesMax: limits.requestBytesMax,
      storageBytesMax: featureLevelMax < storageRulesLevel ? null : config['initial-storage-quota'],
    },
    featureLevel: featureLevelMax,
  })
  bootstrap.start(onFatal)
  closing.add(() => bootstrap.stop())
  return bootstrap
}

export type FoundingObjects = FoundingDependencies & {
  readonly names: Names
  readonly catalog: Catalog
  readonly policy: readonly ExpectedObject[]
  readonly featureLevel: number
  readonly isEncrypted: (key: Key) => boolean
}

/**
 * Returns writes of the objects that every cluster has, which the controllers would create
 * otherwise. Objects of encrypted kinds are left to the controllers, because the first command is
 * not encrypted.
 */
export function foundingOperations(of: FoundingObjects): readonly Operation[] {
  const { names, catalog, policy, featureLevel, isEncrypted } = of
  const group = names.group('rbac.authorization')
  const expected = [
    ...initialObjectsOf(names, catalog).map((initial) => ({ ...initial, object: newObject(initial) })),
    ...policy.map((one) => ({ group, version: 'v1', ...one })),
  ]
  const operations = expected.flatMap(({ group: itsGroup, version, plural, object }) => {
    const definition = catalog.find(itsGroup, version, plural)
    const { sinceFeatureLevel = 1 } = definition ?? {}
    if (definition === null || sinceFeatureLevel > featureLevel) return []
    return [foundingOperation(definition, object, of)]
  })
  return [...bootstrapOperations(names, of), ...operations.filter(({ key }) => !isEncrypted(key))]
}
