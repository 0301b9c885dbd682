import type { Clock } from '../../raft/base/clock.ts'
import type { Names } from '../api/names.ts'
import type { UserInfo } from '../api/object.ts'
import type { Registry } from '../registry/answer.ts'
import type { AnyObject } from '../registry/definition.ts'
import { parseStored } from '../registry/encode.ts'
import { Informer } from '../registry/informer.ts'
import { LocalClient } from '../registry/local-client.ts'
import { prefixOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { whileLeading } from './leadership.ts'
import type { Leadership } from './leadership.ts'
import { namespaceDeletion } from './namespace-deletion.ts'

export type ControllersParts = {
  readonly store: ObjectStore
  readonly registry: Registry
  readonly clock: Clock
  readonly names: Names
  readonly leadership: Leadership
  /** A step that failed and will be tried again. */
  readonly onError: (controller: string, key: string, cause: unknown) => void
}

/** As whom admission and audit see the server's own controllers. */
const user: UserInfo = Object.freeze({
  name: 'system:apiserver',
  uid: '',
  groups: ['system:masters'],
  extra: {},
})

/** For one call of a verb; emptying a large namespace takes several. */
const callTimeoutMs = 30_000

/**
 * All controllers of this server. Their informers follow on every member, so that a new leader begins with
 * what it needs; they work only where this member leads.
 */
export function startControllers(parts: ControllersParts): { readonly close: () => void } {
  const { store, registry, clock, names } = parts
  const client = new LocalClient({ registry, clock, user, timeoutMs: callTimeoutMs })
  const prefix = prefixOf({ group: '', plural: 'namespaces', namespace: null })
  const namespaces = new Informer<AnyObject>({ store, clock, prefix, parse: parseStored })
  const deletion = namespaceDeletion({
    clock,
    names,
    catalog: registry.catalog,
    client,
    namespaces,
    onError: (key, cause) => parts.onError('namespace-deletion', key, cause),
  })
  namespaces.start()
  const end = whileLeading(parts.leadership, {
    start: () => deletion.start(),
    stop: () => deletion.stop(),
  })
  return {
    close: () => {
      end()
      namespaces.close()
    },
  }
}
