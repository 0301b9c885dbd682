import { checkDns1123Subdomain } from '../api/name-rules.ts'
import type { Names } from '../api/names.ts'
import { listOf, struct } from '../api/schema/build.ts'
import type { ResourceDefinition } from '../registry/definition.ts'
import { checkWebhook, checkWebhookNames, webhookColumns, webhookFields } from './parts/webhook.ts'

/** Who may refuse requests besides this server. @source spec 4.6 */
export function validatingWebhookConfigurationDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('admissionregistration'),
    version: 'v1',
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    singular: 'validatingwebhookconfiguration',
    shortNames: [],
    categories: ['api-extensions'],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: validatingWebhookConfigurationSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    tracksGeneration: true,
    columns: webhookColumns,
    hooks: { validate: checkWebhookNames },
    subresources: [],
  } satisfies ResourceDefinition)
}

const validatingWebhookSchema = struct(
  'admissionregistration.v1.ValidatingWebhook',
  'Somebody who may refuse requests.',
  webhookFields({ objectSelector: 10 }),
  { check: checkWebhook },
)

const validatingWebhookConfigurationSchema = struct(
  'admissionregistration.v1.ValidatingWebhookConfiguration',
  'Who may refuse requests.',
  {
    webhooks: listOf(2, validatingWebhookSchema, 'The webhooks.', {
      patchMergeKey: 'name',
      patchStrategy: 'merge',
    }),
  },
)
