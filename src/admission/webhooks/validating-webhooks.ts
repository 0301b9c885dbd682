import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { RemotePlugin } from '../chain.ts'
import type { Freshness } from './freshness.ts'
import { ReviewedObjects } from './reviewed-objects.ts'
import { warnOfSuspension } from './suspension.ts'
import type { WebhookSource } from './follow-webhooks.ts'
import type { WebhookCaller } from './webhook-caller.ts'

export type ValidatingWebhooksDependencies = {
  readonly source: Pick<WebhookSource, 'validating' | 'names' | 'wallMs'>
  readonly caller: WebhookCaller
  readonly freshness: Freshness
}

/**
 * Calls validating webhooks in parallel with the object as it would be stored. Any denial fails the
 * request; of several, the one of the first webhook is returned.
 *
 * @source spec 4.6; apiserver `pkg/admission/plugin/webhook/validating`
 */
export function validatingWebhooks(dependencies: ValidatingWebhooksDependencies): RemotePlugin {
  const { source, freshness } = dependencies
  return {
    name: 'ValidatingAdmissionWebhook',
    callsOut: true,
    concerns: (request) => freshness.isStale(request) || source.validating().matching(request).length > 0,
    validate: async (request) => {
      await freshness.refresh(request)
      await validated(dependencies, request)
    },
  }
}

async function validated(
  { source, caller }: ValidatingWebhooksDependencies,
  request: AdmissionRequest,
): Promise<void> {
  const { object, oldObject, context } = request
  const objects = new ReviewedObjects(request)
  const calls = source
    .validating()
    .matching(request)
    .flatMap((match, index) =>
      warnOfSuspension(match.webhook, request, source.wallMs()) ? [] : [{ ...match, index }],
    )
    .map(async ({ webhook, definition, index }) => {
      const result = await caller.call(
        {
          ...{ webhook, matched: definition, request },
          objectText: object === null ? null : (await objects.shown(object, definition)).text,
          oldObjectText: oldObject === null ? null : (await objects.shown(oldObject, definition)).text,
        },
        () => ({ kind: 'used', value: null }),
      )
      if (result.kind === 'allowed') return
      const key = `failed-open.validating.webhook.${source.names.group('admission')}/round_0_index_${index}`
      context.request.annotate?.(key, webhook.name)
    })
  // All of them end before the request does, so that none is called for a request that has ended.
  for (const result of await Promise.allSettled(calls)) {
    if (result.status === 'rejected') throw result.reason
  }
}
