import type { SeededRandom } from '../../raft/base/random.ts'
import type {
  ClusterIdentity,
  Command,
  Condition,
  Founding,
  Operation,
  Settings,
} from '../../src/store/command.ts'
import type { Key } from '../../src/store/key.ts'
import { revision } from '../../src/store/revision.ts'
import { configMapKey, encoded, namespaceKey } from './store-kit.ts'

/** Trims reach far, so that little history shows much of it. */
export const smallSettings: Settings = {
  historyWindowMs: 60_000,
  historyEventsMin: 20,
  objectBytesMax: 1024 * 1024,
  storageBytesMax: null,
}

export function identityOf(clusterId: string): ClusterIdentity {
  return {
    clusterId,
    apiDomain: 'orch.io',
    continueTokenKey: new Uint8Array(32).fill(3),
    keyFingerprints: { b: 'two', a: 'one' },
  }
}

export function bootstrapOf(
  clusterId: string,
  more: { readonly settings?: Settings; readonly featureLevel?: number; readonly founding?: Founding } = {},
): Command {
  const { settings = smallSettings, featureLevel = 1, founding } = more
  return {
    ...{ kind: 'bootstrap', identity: identityOf(clusterId), settings, operations: [], featureLevel },
    ...(founding === undefined ? {} : { founding }),
  }
}

/** Recorded digests are of what was drawn from the `first` ones, and seeds were chosen for it. */
export type DrawnConditions = 'first' | 'all'

/** A command of any kind, often with conditions that do not hold. @param near about where revisions are */
export function randomCommand(
  random: SeededRandom,
  near: number,
  conditions: DrawnConditions = 'first',
): Command {
  const kind = random.below(100)
  if (kind < 4) return { kind: 'trim', upTo: revision(random.below(near + 10)) }
  if (kind < 5) return { kind: 'expire-sessions', before: random.below(near + 1) }
  if (kind < 6) return bootstrapOf(`c${near}`)
  const operations = Array.from({ length: random.chance(0.7) ? 1 : random.below(5) }, () =>
    randomOperation(random, near, conditions),
  )
  return { kind: 'write', operations }
}

/** One of few keys, so that they are written to again and again. */
export function randomKey(random: SeededRandom): Key {
  const namespace = random.pick(['a', 'b', 'a-b'])
  return random.chance(0.1) ? namespaceKey(namespace) : configMapKey(`c${random.below(12)}`, namespace)
}

function randomOperation(random: SeededRandom, near: number, drawn: DrawnConditions): Operation {
  const key = randomKey(random)
  const conditions = random.chance(0.6) ? [] : [randomCondition(random, near, drawn)]
  if (random.chance(0.3)) return { kind: 'delete', key, conditions }
  const object = encoded('x'.repeat(random.below(50)) + String(near), {
    uid: `u${random.below(3)}`,
    terminating: random.chance(0.1),
    labels: random.chance(0.5) ? null : { app: `a${random.below(3)}` },
  })
  return { kind: 'put', key, conditions, object }
}

function randomCondition(random: SeededRandom, near: number, drawn: DrawnConditions): Condition {
  if (drawn === 'all' && random.chance(1 / 7)) {
    return { kind: 'other-revision-is', key: randomKey(random), revision: revision(random.below(near + 2)) }
  }
  return random.pick<Condition>([
    { kind: 'absent' },
    { kind: 'exists' },
    { kind: 'uid-is', uid: `u${random.below(3)}` },
    { kind: 'revision-is', revision: revision(random.below(near + 2)) },
    { kind: 'namespace-active', namespace: random.pick(['a', 'b']) },
    { kind: 'prefix-empty', prefixes: ['/configmaps/b/'] },
  ])
}
