import type { Names } from '../api/metadata/names.ts'
import { listOf, struct, text } from '../api/schema/build.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkWebhook, webhookConfigurationBasics, webhookFields } from './webhooks/webhook.ts'

/** Webhooks that may mutate or reject objects. @source spec 4.6 */
export function mutatingWebhookConfigurationDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...webhookConfigurationBasics(names),
    kind: 'MutatingWebhookConfiguration',
    plural: 'mutatingwebhookconfigurations',
    singular: 'mutatingwebhookconfiguration',
    schema: mutatingWebhookConfigurationSchema,
  } satisfies ResourceDefinition)
}

const mutatingWebhookSchema = struct(
  'admissionregistration.v1.MutatingWebhook',
  'A webhook that may mutate or reject objects.',
  {
    ...webhookFields({ objectSelector: 11 }),
    reinvocationPolicy: text(
      10,
      'Whether it is called again after another webhook or a plugin changed the object: Never or IfNeeded.',
      {
        optional: true,
        default: 'Never',
        enum: ['IfNeeded', 'Never'],
      },
    ),
  },
  { check: checkWebhook },
)

const mutatingWebhookConfigurationSchema = struct(
  'admissionregistration.v1.MutatingWebhookConfiguration',
  'Configuration of mutating admission webhooks.',
  {
    webhooks: listOf(2, mutatingWebhookSchema, 'The webhooks.', {
      patchMergeKey: 'name',
      patchStrategy: 'merge',
    }),
  },
)
