import { settledInLanes } from '../../../base/lanes.ts'
import { limits } from '../../config/limits.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'
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
 * Calls validating webhooks in parallel, within limits, with the object as it would be stored. Any
 * denial fails the request; of several, the one of the first webhook is returned.
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
  const textOf = async (of: AnyObject | null, version: ResourceDefinition): Promise<string | null> =>
    of === null ? null : (await objects.shown(of, version)).text
  const matches = source
    .validating()
    .matching(request)
    .flatMap((match, index) =>
      warnOfSuspension(match.webhook, request, source.wallMs()) ? [] : [{ ...match, index }],
    )
  const [first] = matches
  if (first === undefined) return
  const shown = [await textOf(object, first.definition), await textOf(oldObject, first.definition)]
  const characters = shown.reduce((sum, text) => sum + (text?.length ?? 0), 1)
  const lanes = Math.min(limits.webhookCallsMax, limits.webhookCharactersMax / characters)
  const results = await settledInLanes(matches, lanes, async ({ webhook, definition, index }) => {
    const result = await caller.call(
      {
        ...{ webhook, matched: definition, request },
        objectText: await textOf(object, definition),
        oldObjectText: await textOf(oldObject, definition),
      },
      () => ({ kind: 'used', value: null }),
    )
    if (result.kind === 'allowed') return
    const key = `failed-open.validating.webhook.${source.names.group('admission')}/round_0_index_${index}`
    context.request.annotate?.(key, webhook.name)
  })
  for (const result of results) {
    if (result.status === 'rejected') throw result.reason
  }
}
