import { limits } from '../../config/limits.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import { fromStore } from '../../registry/shared/store-error-mapping.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import type { WebhookSource } from './follow-webhooks.ts'

export type FreshnessDependencies = {
  readonly store: Pick<ObjectStore, 'barrier'>
  /** Returns the age of the last proof that this member is up to date, in ms. */
  readonly proofAgeMs: () => number
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
    return this.#dependencies.proofAgeMs() > limits.admissionWebhookProofMsMax
  }

  /** @throws ApiError there is no quorum */
  async refresh(request: Pick<AdmissionRequest, 'context'>): Promise<void> {
    if (!this.isStale(request)) return
    const { store, source } = this.#dependencies
    await fromStore(store.barrier(request.context.request.deadlineMs))
    await fromStore(source.takeIn())
  }
}
