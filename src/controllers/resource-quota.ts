import type { Clock, Timer } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { Names } from '../api/metadata/names.ts'
import { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { amountsJson, NO_AMOUNTS, spellAmounts } from '../registry/quota/amounts.ts'
import type { Amounts } from '../registry/quota/amounts.ts'
import { isInForce, quotaOf, quotasPrefix } from '../registry/quota/quota.ts'
import type { Quota } from '../registry/quota/quota.ts'
import { isUncounted } from '../registry/quota/usage.ts'
import { ALL_OBJECTS, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore, StoreEvent } from '../store/object-store.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventSubject, EventText } from './event-object.ts'
import type { EventRecorder } from './event-recorder.ts'
import { LastingProblems } from './lasting-problems.ts'
import type { Problem } from './lasting-problems.ts'
import { QuotaUsage } from './quota-usage.ts'

export type ResourceQuotaDependencies = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (namespace: string, cause: unknown) => void
}

/** Delay after a change, so that several are counted once. Usage is lowered within a second. */
const gatherMs = 200
/** Interval after which all quotas are counted again: Pods on lost nodes stop counting. */
const resyncMs = 300_000
/** Maximum attempts while admission changes the statuses; other namespaces get their turn then. */
const attemptsMax = 20
/** Maximum number of quotas of one namespace that are written concurrently. */
const updatesMax = 32
/** Maximum number of quotas of one namespace that get an event about the same failure. */
const reportedMax = 10

/**
 * Puts the limits of quotas in force and counts usage again after changes. Admission raises usage
 * with each object that it admits; this controller lowers it, and counts once for a new quota.
 *
 * @returns the controller and the informer that it follows, which the caller starts; and `close`,
 * which ends the informer and the timers
 * @source upstream `pkg/controller/resourcequota`
 */
export function resourceQuotaController(dependencies: ResourceQuotaDependencies): {
  readonly controller: Controller
  readonly informer: Informer<Quota>
  readonly close: () => void
} {
  const { store, clock, names, onError } = dependencies
  const usage = new QuotaUsage(names, clock)
  /** Namespaces with quotas, and how many. */
  const limited = new Map<string, number>()
  const changed = new ChangedNamespaces(clock, (namespace) => controller.enqueue(namespace))
  const informer: Informer<Quota> = new Informer({
    ...{ store, clock, prefix: ALL_OBJECTS },
    keeps: ({ key }) => isQuotaKey(key),
    parse: quotaOf,
    onEvent: (event) => {
      const namespace = limited.size === 0 ? '' : countedNamespace(event)
      if (limited.has(namespace)) changed.add(namespace)
    },
    onDeleted: (deleted) => {
      if (deleted === null) for (const namespace of limited.keys()) changed.add(namespace)
    },
  })
  informer.subscribe(({ key, previous, ...change }) => {
    const { namespace } = partsOf(key)
    const before = limited.get(namespace) ?? 0
    if (change.kind === 'removed') {
      if (before <= 1) limited.delete(namespace)
      else limited.set(namespace, before - 1)
      return
    }
    if (previous === null) limited.set(namespace, before + 1)
    if (!isInForce(change.value)) changed.add(namespace)
  })
  const problems = new LastingProblems(dependencies)
  const controller = new Controller({
    ...{ clock, onError },
    reconcile: problems.watched(
      async (namespace) => {
        const result = await reconcile(dependencies, usage, namespace)
        const words = 'it changes faster than it is counted'
        if (result.kind === 'again') await problems.found(namespace, uncounted(store, namespace, words))
        return result
      },
      (namespace, words) => uncounted(store, namespace, words),
    ),
    keys: () => limited.keys(),
  })
  const resync = clock.every(resyncMs, () => {
    for (const namespace of limited.keys()) controller.enqueue(namespace)
  })
  const close = (): void => {
    resync.cancel()
    changed.close()
    informer.close()
  }
  return { controller, informer, close }
}

/** Gathers namespaces for a while. Holds at most one entry per namespace with quotas. */
class ChangedNamespaces {
  readonly #clock: Clock
  readonly #enqueue: (namespace: string) => void
  readonly #namespaces = new Set<string>()
  #timer: Timer | null = null

  constructor(clock: Clock, enqueue: (namespace: string) => void) {
    this.#clock = clock
    this.#enqueue = enqueue
  }

  add(namespace: string): void {
    this.#namespaces.add(namespace)
    this.#timer ??= this.#clock.after(gatherMs, () => {
      this.#timer = null
      const namespaces = [...this.#namespaces]
      this.#namespaces.clear()
      for (const one of namespaces) this.#enqueue(one)
    })
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = null
  }
}

function isQuotaKey(key: Key): boolean {
  return key.startsWith('/resourcequotas/')
}

/** Returns the namespace whose usage the event may change; empty: none. */
function countedNamespace({ kind, key }: StoreEvent): string {
  const { namespace, ...place } = partsOf(key)
  // The status of a quota changes with each object that is admitted.
  if (isUncounted(place) || (kind === 'updated' && isQuotaKey(key))) return ''
  return namespace
}

function uncounted(store: Pick<ObjectStore, 'view'>, namespace: string, words: string): Problem {
  const quotas = () => store.view().list(quotasPrefix(namespace), { after: null, limit: reportedMax })
  return {
    about: () => quotas().objects.map(({ key, uid }) => subjectOf(key, uid)),
    reason: 'QuotaNotCounted',
    message: `The usage cannot be counted or stored: ${words}`,
  }
}

function subjectOf(key: Key, uid: string): EventSubject {
  const { namespace, name } = partsOf(key)
  return { ...{ apiVersion: 'v1', kind: 'ResourceQuota' }, ...{ namespace, name, uid } }
}

/** Returns the event about a quota whose limits take effect. */
function inForceEvent({ wanted }: Quota, used: Amounts): EventText {
  const exceeded = [...wanted]
    .filter(([name, { nanos }]) => (used.get(name)?.nanos ?? 0n) > nanos)
    .map(([name]) => name)
  if (exceeded.length === 0)
    return { type: 'Normal', reason: 'QuotaInForce', message: 'The limits of the spec are in force' }
  const message =
    'The limits of the spec are in force, and more is used: ' +
    `used: ${spellAmounts(used, exceeded)}, limited: ${spellAmounts(wanted, exceeded)}`
  return { type: 'Warning', reason: 'QuotaExceeded', message }
}

async function reconcile(
  { store, catalog, client, events }: ResourceQuotaDependencies,
  usage: QuotaUsage,
  namespace: string,
): Promise<Reconciled> {
  const definition = catalog.find('', 'v1', 'resourcequotas')
  if (definition === null) return { kind: 'done' }
  const update = async ({ quota, used }: Stale): Promise<'written' | 'outdated'> => {
    const status = { hard: amountsJson(quota.wanted), used: amountsJson(used) }
    try {
      const target = { namespace, name: quota.name, subresource: 'status' }
      await client.update(definition, target, { ...quota.object, status })
      const { key, uid } = quota.stored
      if (!isInForce(quota)) events.record(subjectOf(key, uid), inForceEvent(quota, used))
      return 'written'
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause
      if (cause.code !== 'Conflict' && cause.code !== 'NotFound') throw cause
      return 'outdated'
    }
  }
  for (let attempt = 0; attempt < attemptsMax;) {
    await usage.prepare(store, namespace)
    // The quotas are read first: the update of one that changes during the count is a conflict.
    const { objects } = store.view().list(quotasPrefix(namespace), { after: null, limit: null })
    const quotas = objects.map(quotaOf)
    const counted = await usage.of(quotas, namespace, store)
    const stale = staleOf(quotas, counted).slice(0, updatesMax)
    if (stale.length === 0) return { kind: 'done' }
    const results = await Promise.all(stale.map(update))
    if (results.includes('outdated')) attempt++
  }
  return { kind: 'again' }
}

type Stale = { readonly quota: Quota; readonly used: Amounts }

/** @param counted the usage of each quota */
function staleOf(quotas: readonly Quota[], counted: readonly Amounts[]): readonly Stale[] {
  return quotas.flatMap((quota, at) => {
    const used = counted[at] ?? NO_AMOUNTS
    return isInForce(quota) && isSame(quota.used, used) ? [] : [{ quota, used }]
  })
}

function isSame(a: Amounts, b: Amounts): boolean {
  return a.size === b.size && [...a].every(([name, { nanos }]) => b.get(name)?.nanos === nanos)
}
