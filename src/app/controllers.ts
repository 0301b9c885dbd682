import type { Logger } from 'pino'
import type { Clock } from '../../raft/base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import type { Names } from '../api/names.ts'
import { whileLeading } from '../controllers/leadership.ts'
import type { Leadership } from '../controllers/leadership.ts'
import { namespaceDeletion } from '../controllers/namespace-deletion.ts'
import type { Registry } from '../registry/answer.ts'
import type { Catalog } from '../registry/catalog.ts'
import { parseStored } from '../registry/encode.ts'
import { Informer } from '../registry/informer.ts'
import { LocalClient } from '../registry/local-client.ts'
import type { Outcome } from '../store/command.ts'
import { prefixOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'

export type ControllersParts = {
  readonly registry: Registry
  readonly store: ObjectStore
  readonly consensus: Consensus<Outcome>
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly log: Logger
}

const callMsMax = 30_000

/** Upkeep that runs where the leader is. */
export class Controllers {
  readonly #parts: ControllersParts
  #stops: (() => void)[] = []

  constructor(parts: ControllersParts) {
    this.#parts = parts
  }

  start(): void {
    const { registry, store, consensus, clock, names, catalog, log } = this.#parts
    const user = {
      name: 'system:serviceaccount:' + names.systemNamespace + ':namespace-controller',
      uid: '',
      groups: [
        'system:serviceaccounts',
        `system:serviceaccounts:${names.systemNamespace}`,
        'system:authenticated',
      ],
      extra: {},
    }
    const client = new LocalClient({ registry, clock, user, timeoutMs: callMsMax })
    const namespaces = new Informer({
      store,
      clock,
      prefix: prefixOf({ group: '', plural: 'namespaces', namespace: null }),
      parse: parseStored,
    })
    const deletion = namespaceDeletion({
      ...{ clock, names, catalog, client, namespaces },
      onError: (key, cause) => log.warn({ namespace: key, err: cause }, 'namespace not emptied yet'),
    })
    namespaces.start()
    this.#stops = [
      () => namespaces.close(),
      whileLeading(leadershipOf(consensus), { start: () => deletion.start(), stop: () => deletion.stop() }),
    ]
  }

  stop(): void {
    for (const stop of this.#stops.reverse()) stop()
    this.#stops = []
  }
}

function leadershipOf(consensus: Consensus<Outcome>): Leadership {
  return {
    get leading() {
      return consensus.status.role === 'leader'
    },
    onChange: (listener) => consensus.onStatus(listener),
  }
}
