import { allSettledWithLimit } from '../../../base/all-settled.ts'
import { limits } from '../../config/limits.ts'
import type { AdmissionRequest } from '../../registry/calls/admission.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { RemotePlugin } from '../chain.ts'
import type { Freshness } from './freshness.ts'
import { ReviewedObjects } from './reviewed-objects.ts'
import { warnOfSuspension } from './suspension.ts'
import type { WebhookSource } from './follow-webhooks.ts'
import type { WebhookCall, WebhookCaller } from './webhook-caller.ts'

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

type Texts = Pick<WebhookCall, 'objectText' | 'oldObjectText'>

/** A validating webhook returns only its decision. */
const useNothing = (): { readonly kind: 'used'; readonly value: null } => nothing
const nothing = { kind: 'used', value: null } as const

async function validated(
  { source, caller }: ValidatingWebhooksDependencies,
  request: AdmissionRequest,
): Promise<void> {
  const { object, oldObject, context } = request
  const objects = new ReviewedObjects(request)
  const textOf = async (of: AnyObject | null, version: ResourceDefinition): Promise<string | null> =>
    of === null ? null : (await objects.shown(of, version)).text
  const known = new Map<ResourceDefinition, Texts>()
  const textsIn = async (version: ResourceDefinition): Promise<Texts> => {
    const texts = {
      objectText: await textOf(object, version),
      oldObjectText: await textOf(oldObject, version),
    }
    known.set(version, texts)
    return texts
  }
  const matches = source
    .validating()
    .matching(request)
    .flatMap((match, index) =>
      warnOfSuspension(match.webhook, request, source.wallMs()) ? [] : [{ ...match, index }],
    )
  const [first] = matches
  if (first === undefined) return
  const { objectText, oldObjectText } = await textsIn(first.definition)
  const characters = (objectText?.length ?? 0) + (oldObjectText?.length ?? 0) + 1
  const callsMax = Math.min(limits.webhookCallsMax, limits.webhookCharactersMax / characters)
  const results = await allSettledWithLimit(matches, callsMax, async ({ webhook, definition, index }) => {
    const texts = known.get(definition) ?? (await textsIn(definition))
    const result = await caller.call({ webhook, matched: definition, request, ...texts }, useNothing)
    if (result.kind === 'allowed') return
    const key = `failed-open.validating.webhook.${source.names.group('admission')}/round_0_index_${index}`
    context.request.annotate?.(key, webhook.name)
  })
  for (const result of results) {
    if (result.status === 'rejected') throw result.reason
  }
}
