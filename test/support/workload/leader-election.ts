import { setTimeout as sleep } from 'node:timers/promises'
import { V1MicroTime } from '@kubernetes/client-node'
import type { V1Lease } from '@kubernetes/client-node'
import { failureOf, isRefusedWith } from './member-clients.ts'
import type { MemberClients } from './member-clients.ts'

/** The times of upstream's components, in ms. */
const leaseMs = 15_000
const renewalMs = 10_000
const retryMs = 2000

export type ElectionOptions = {
  readonly clients: MemberClients
  readonly namespace: string
  readonly name: string
  readonly identity: string
  readonly onStarted: () => void
  /** Called at once when leadership is lost or given up: another candidate may lead soon. */
  readonly onStopped: () => void
  readonly onBug: (cause: unknown) => void
}

/**
 * Leader election by a Lease, as upstream's: the candidate that renews it leads. The others wait
 * until it was not renewed for its duration by their own clocks.
 */
export class LeaderElection {
  readonly #options: ElectionOptions
  #observed: V1Lease | null = null
  /** When `#observed` was read first. */
  #observedMs = 0
  /** When the last successful renewal was sent; null: this one does not lead. */
  #renewedMs: number | null = null
  #isStopped = false
  readonly #wake = new AbortController()
  readonly #done: Promise<void>

  constructor(options: ElectionOptions) {
    this.#options = options
    this.#done = this.#run().catch(options.onBug)
  }

  get isLeading(): boolean {
    return this.#renewedMs !== null
  }

  /** Ends as a killed process does: the Lease stays until it expires. */
  async abandon(): Promise<void> {
    this.#isStopped = true
    this.#lose()
    this.#wake.abort()
    await this.#done
  }

  /** Ends as a stopped process does: another one may lead at once. */
  async release(): Promise<void> {
    const wasLeading = this.isLeading
    await this.abandon()
    const held = this.#observed
    if (!wasLeading || held === null) return
    try {
      const body = { ...held, spec: { ...held.spec, holderIdentity: '', leaseDurationSeconds: 1 } }
      const { clients, namespace, name } = this.#options
      await clients.call(({ coordination }) => coordination.replaceNamespacedLease({ namespace, name, body }))
    } catch (cause) {
      if (failureOf(cause) === null) throw cause
    }
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const sentMs = performance.now()
      const deadline = this.#renewedMs === null ? null : this.#renewedMs + renewalMs
      const attempt = this.#acquireOrRenew()
      const isHeld = await (deadline === null ? attempt : before(deadline, attempt))
      if (this.#isStopped) return
      if (isHeld && !this.isLeading) this.#options.onStarted()
      if (isHeld) this.#renewedMs = sentMs
      else if (deadline !== null && performance.now() >= deadline) {
        this.#lose()
        await attempt
      }
      await sleep(retryMs, undefined, { signal: this.#wake.signal }).catch(() => undefined)
    }
  }

  #lose(): void {
    if (this.#renewedMs === null) return
    this.#renewedMs = null
    this.#options.onStopped()
  }

  /** @returns whether this one holds the Lease now */
  async #acquireOrRenew(): Promise<boolean> {
    const { clients, namespace, name, identity } = this.#options
    try {
      const lease = await this.#read()
      const now = new V1MicroTime()
      const spec = { holderIdentity: identity, leaseDurationSeconds: leaseMs / 1000, renewTime: now }
      if (lease === null) {
        const body = {
          metadata: { name, namespace },
          spec: { ...spec, acquireTime: now, leaseTransitions: 0 },
        }
        this.#observe(
          await clients.call(({ coordination }) => coordination.createNamespacedLease({ namespace, body })),
        )
        return true
      }
      this.#observe(lease)
      const isOwn = lease.spec?.holderIdentity === identity
      const isHeld = (lease.spec?.holderIdentity ?? '') !== ''
      if (!isOwn && isHeld && performance.now() < this.#observedMs + leaseMs) return false
      const { acquireTime = now, leaseTransitions = 0 } = lease.spec ?? {}
      const taken = { acquireTime: now, leaseTransitions: leaseTransitions + 1 }
      const body = { ...lease, spec: { ...spec, ...(isOwn ? { acquireTime, leaseTransitions } : taken) } }
      this.#observe(
        await clients.call(({ coordination }) =>
          coordination.replaceNamespacedLease({ namespace, name, body }),
        ),
      )
      return true
    } catch (cause) {
      if (failureOf(cause) === null) throw cause
      return false
    }
  }

  async #read(): Promise<V1Lease | null> {
    const { clients, namespace, name } = this.#options
    try {
      return await clients.call(({ coordination }) => coordination.readNamespacedLease({ namespace, name }))
    } catch (cause) {
      if (isRefusedWith(cause, 404)) return null
      throw cause
    }
  }

  #observe(lease: V1Lease): void {
    const isSame = lease.metadata?.resourceVersion === this.#observed?.metadata?.resourceVersion
    if (!isSame) this.#observedMs = performance.now()
    this.#observed = lease
  }
}

/** @returns false when the time comes first */
async function before(atMs: number, attempt: Promise<boolean>): Promise<boolean> {
  const given = new AbortController()
  const alarm = sleep(Math.max(0, atMs - performance.now()), false, { signal: given.signal })
  alarm.catch(() => undefined)
  const first = await Promise.race([attempt, alarm])
  given.abort()
  return first
}
