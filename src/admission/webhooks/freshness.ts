import type { Clock } from '../../../base/clock.ts'
import { limits } from '../../config/limits.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import { fromStore } from '../../registry/shared/store-error-mapping.ts'
import type { ObjectStore, StoreReads } from '../../store/object-store.ts'
import type { WebhookSource } from './follow-webhooks.ts'

export type FreshnessDependencies = {
  readonly store: Pick<ObjectStore, 'barrier'> & { readonly reads: Pick<StoreReads, 'freshness'> }
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** The configurations that this member has applied. They may lag a little behind its memory. */
  readonly source: Pick<WebhookSource, 'takeIn'>
}

/**
 * Ensures that a member which is behind, such as one that has just restarted, does not decide by
 * configurations of the past: a webhook is in force on every member soon after it is configured.
 */
export class Freshness {
  readonly #dependencies: FreshnessDependencies

  constructor(dependencies: FreshnessDependencies) {
    this.#dependencies = dependencies
  }

  isStale({ context }: Pick<AdmissionRequest, 'context'>): boolean {
    if (context.request.isInternal === true) return false
    const { store, clock } = this.#dependencies
    // Each read barrier is a proof, whether it was for a read or for an earlier write.
    const provenMs = store.reads.freshness?.asOfMs ?? Number.NEGATIVE_INFINITY
    return clock.monotonicMs() - provenMs > limits.admissionWebhookProofMsMax
  }

  /** @throws ApiError there is no quorum */
  async refresh(request: Pick<AdmissionRequest, 'context'>): Promise<void> {
    if (!this.isStale(request)) return
    const { store, source } = this.#dependencies
    await fromStore(store.barrier(request.context.request.deadlineMs))
    await fromStore(source.takeIn())
  }
}
