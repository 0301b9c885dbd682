import { namespaceLifecycle } from '../../src/admission/namespace-lifecycle.ts'
import { admissionChain } from '../../src/admission/chain.ts'
import { authorizerFor } from '../../src/auth/authorize.ts'
import { bootstrapPolicy } from '../../src/auth/bootstrap-policy.ts'
import { reviewersOf } from '../../src/auth/reviewers.ts'
import { staticRules } from '../../src/auth/static-rules.ts'
import { tokenFile } from '../../src/auth/token-file.ts'
import { namesOf } from '../../src/api/names.ts'
import type { ApiDomain } from '../../src/api/names.ts'
import type { Registry } from '../../src/registry/answer.ts'
import { Catalog } from '../../src/registry/catalog.ts'
import { registry } from '../../src/registry/registry.ts'
import { bootstrapOperations } from '../../src/resources/bootstrap-objects.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import type { Store } from '../../src/store/store.ts'
import { featureLevelMax } from '../../src/version.ts'
import { openMemoryStore } from './memory-store.ts'
import { freshRandom, systemClock } from './system.ts'

/** Who shows which token. */
export const TOKENS = 'admin-token,admin,1,system:masters\nnobody-token,nobody,2\n'

/** The shipped verbs over the shipped state machine, in memory, with the objects every cluster begins with. */
export async function realRegistry(domain: ApiDomain): Promise<{
  readonly registry: Registry
  readonly store: Store
  readonly close: () => Promise<void>
}> {
  const names = namesOf(domain)
  const random = freshRandom()
  const { store, close } = await openMemoryStore()
  await store.write(
    {
      kind: 'bootstrap',
      identity: {
        clusterId: 'test',
        apiDomain: domain,
        continueTokenKey: random.bytes(32),
        keyFingerprints: {},
      },
      settings: store.settings,
      operations: bootstrapOperations(names, { clock: systemClock, random }),
      featureLevel: featureLevelMax,
    },
    systemClock.monotonicMs() + 10_000,
  )
  const lifecycle = namespaceLifecycle({ names })
  const parts = {
    ...{ store, clock: systemClock, random, names },
    catalog: new Catalog(definitionsFor(names)),
    admission: admissionChain([lifecycle]),
    reviewers: reviewersOf({
      authorizer: authorizerFor(['RBAC'], staticRules(bootstrapPolicy(names))),
      tokens: [tokenFile(TOKENS, 'tokens.csv')],
      audiences: ['https://this.server'],
    }),
  }
  return { registry: registry(parts), store, close }
}
