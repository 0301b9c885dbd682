import type { Clock } from '../../../base/clock.ts'
import type { Names } from '../../api/metadata/names.ts'
import { bootstrapTokenOf } from '../../registry/kinds/bootstrap-token.ts'
import type { BootstrapToken } from '../../registry/kinds/bootstrap-token.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import type { Informer } from '../../registry/informer.ts'
import type { LocalClient } from '../../registry/local-client.ts'
import { partsOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import { Controller } from '../controller.ts'
import type { Reconciled } from '../controller.ts'
import { codeOf, objectPlace, storedSubject } from '../event-subject.ts'
import { LastingProblems } from '../lasting-problems.ts'
import { isLostRace } from '../lost-race.ts'
import { periodicController } from '../periodic-controller.ts'
import type { EventRecorder } from '../event-recorder.ts'
import type { PeriodicController } from '../periodic-controller.ts'

export type TokenCleanupDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** The tokens of the system namespace. null: a Secret without a token */
  readonly tokens: Informer<BootstrapToken | null>
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (key: string, cause: unknown) => void
}

/**
 * Deletes the Secrets of bootstrap tokens that have expired.
 *
 * @source spec 3.3; upstream `pkg/controller/bootstrap/tokencleaner.go`
 */
export function tokenCleaner(dependencies: TokenCleanupDependencies): PeriodicController {
  const { clock, tokens, onError } = dependencies
  const due = function* (): Generator<Key, void> {
    const nowMs = clock.wallMs()
    for (const [key, token] of tokens.entries()) if (token !== null && token.expiresMs <= nowMs) yield key
  }
  const controller = new Controller({
    ...{ clock, onError, keys: due },
    reconcile: new LastingProblems(dependencies).watched(
      (key) => reconcile(dependencies, key as Key),
      (key, _, cause) => ({
        about: () => storedSubject(dependencies, 'secrets', objectPlace(key as Key)),
        reason: 'FailedDelete',
        message: `The bootstrap token has expired, but it cannot be deleted: ${codeOf(cause)}`,
      }),
    ),
  })
  return periodicController(controller, { clock, due })
}

/** Decides by the newest version: the token may have been extended in the meantime. */
async function reconcile(
  { clock, names, catalog, client, events }: TokenCleanupDependencies,
  key: Key,
): Promise<Reconciled> {
  const definition = catalog.find('', 'v1', 'secrets')
  if (definition === null) return { kind: 'done' }
  const { namespace, name } = partsOf(key)
  const target = { namespace, name, subresource: null }
  const object = await client.get(definition, target)
  const token = object === null ? null : bootstrapTokenOf(names, object)
  if (object === null || token === null || token.expiresMs > clock.wallMs()) return { kind: 'done' }
  try {
    await client.delete(definition, target, object)
    const about = { apiVersion: 'v1', kind: 'Secret', namespace, name, uid: object.metadata.uid ?? '' }
    const message = 'Deleted: the bootstrap token has expired'
    events.record(about, { type: 'Normal', reason: 'BootstrapTokenExpired', message })
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}
