import { checkDns1123Subdomain } from '../api/name-rules.ts'
import type { Names } from '../api/names.ts'
import { listOf, struct, text } from '../api/schema/build.ts'
import type { ResourceDefinition } from '../registry/definition.ts'
import { checkWebhook, checkWebhookNames, webhookColumns, webhookFields } from './parts/webhook.ts'

/** Who may change or refuse objects besides this server. @source spec 4.6 */
export function mutatingWebhookConfigurationDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('admissionregistration'),
    version: 'v1',
    kind: 'MutatingWebhookConfiguration',
    plural: 'mutatingwebhookconfigurations',
    singular: 'mutatingwebhookconfiguration',
    shortNames: [],
    categories: ['api-extensions'],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: mutatingWebhookConfigurationSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    tracksGeneration: true,
    columns: webhookColumns,
    hooks: { validate: checkWebhookNames },
    subresources: [],
  } satisfies ResourceDefinition)
}

const mutatingWebhookSchema = struct(
  'admissionregistration.v1.MutatingWebhook',
  'Somebody who may change or refuse objects.',
  {
    ...webhookFields({ objectSelector: 11 }),
    reinvocationPolicy: text(
      10,
      'Whether it is asked again when others changed the object: Never, or IfNeeded.',
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
  'Who may change objects.',
  {
    webhooks: listOf(2, mutatingWebhookSchema, 'The webhooks.', {
      patchMergeKey: 'name',
      patchStrategy: 'merge',
    }),
  },
)
