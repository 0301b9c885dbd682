import type { Clock } from '../../../base/clock.ts'
import type { Informer } from '../../registry/informer.ts'
import type { Key } from '../../store/key.ts'
import { partsOf } from '../../store/key.ts'
import { Controller } from '../controller.ts'
import type { Reconciled } from '../controller.ts'
import { isLostRace } from '../lost-race.ts'
import { periodicController } from '../periodic-controller.ts'
import type { PeriodicController } from '../periodic-controller.ts'
import { summaryOf } from './request-summary.ts'
import type { RequestSummary } from './request-summary.ts'
import { readRequest, recordEvent, requestDefinition } from './write-request.ts'
import type { RequestAccess } from './write-request.ts'

export type CertificateCleanupDependencies = RequestAccess & {
  readonly clock: Clock
  readonly requests: Informer<RequestSummary>
  readonly onError: (key: string, cause: unknown) => void
}

/** Interval of looking for requests that are due for removal. */
const periodMs = 60_000

/**
 * Removes certificate signing requests that are no longer needed, so that they do not accumulate.
 *
 * @source spec 3.2, 8
 */
export function certificateCleaner(dependencies: CertificateCleanupDependencies): PeriodicController {
  const { clock, requests, onError } = dependencies
  const due = function* (): Generator<Key, void> {
    const nowMs = clock.wallMs()
    for (const [key, { removalMs }] of requests.entries()) if (removalMs <= nowMs) yield key
  }
  const controller = new Controller({
    ...{ clock, onError, keys: due },
    reconcile: (key) => reconcile(dependencies, key as Key),
  })
  return periodicController(controller, { clock, periodMs, due })
}

/** Decides by the newest version: the request may have been decided in the meantime. */
async function reconcile(dependencies: CertificateCleanupDependencies, key: Key): Promise<Reconciled> {
  const { clock, names, client } = dependencies
  const definition = requestDefinition(dependencies)
  const object = await readRequest(dependencies, key)
  if (definition === null || object === null) return { kind: 'done' }
  if (object.metadata.deletionTimestamp !== undefined) return { kind: 'done' }
  if (summaryOf(names, object).removalMs > clock.wallMs()) return { kind: 'done' }
  const message = 'Removed: it is no longer needed'
  try {
    await client.delete(definition, { namespace: null, name: partsOf(key).name, subresource: null }, object)
    recordEvent(dependencies, object, { type: 'Normal', reason: 'CertificateRequestRemoved', message })
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}
