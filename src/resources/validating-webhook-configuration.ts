import type { Names } from '../api/metadata/names.ts'
import { listOf, struct } from '../api/schema/build.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkWebhook, webhookConfigurationBasics, webhookFields } from './webhooks/webhook.ts'

/** Webhooks that may reject requests. @source spec 4.6 */
export function validatingWebhookConfigurationDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...webhookConfigurationBasics(names),
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    singular: 'validatingwebhookconfiguration',
    schema: validatingWebhookConfigurationSchema,
  } satisfies ResourceDefinition)
}

const validatingWebhookSchema = struct(
  'admissionregistration.v1.ValidatingWebhook',
  'A webhook that may reject requests.',
  webhookFields({ objectSelector: 10 }),
  { check: checkWebhook },
)

const validatingWebhookConfigurationSchema = struct(
  'admissionregistration.v1.ValidatingWebhookConfiguration',
  'Configuration of validating admission webhooks.',
  {
    webhooks: listOf(2, validatingWebhookSchema, 'The webhooks.', {
      patchMergeKey: 'name',
      patchStrategy: 'merge',
    }),
  },
)
