import type { Names } from '../../api/metadata/names.ts'
import { bytes, flag, int32, listOf, maybe, part, text, texts, time } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { checkWebhookClient, checkWebhookService } from '../webhooks/webhook-client.ts'
import { jsonSchemaProps } from './json-schema-props.ts'
import { openStruct } from './open-struct.ts'

/**
 * The schema of a definition. Like the objects of custom kinds, a definition has no protobuf form.
 *
 * @source apiextensions/v1; spec 4.7
 */
export function definitionSchema(names: Names): ObjectSchema {
  const { properties, required = [] } = openStruct('apiextensions.v1.CustomResourceDefinition', '', {
    spec: part(2, specSchema(names), 'Specification of the resource.', { required: true, always: true }),
    status: part(3, statusSchema, 'Observed state of the definition; set by the server.'),
  })
  return {
    type: 'object',
    definition: 'apiextensions.v1.CustomResourceDefinition',
    description: 'Defines a custom resource that the server serves like a built-in one.',
    properties,
    required,
    keepsUnknown: true,
  }
}

const namesSchema = openStruct(
  'apiextensions.v1.CustomResourceDefinitionNames',
  'Names of a custom resource.',
  {
    plural: text(1, 'Plural name, as in paths; the definition is named PLURAL.GROUP.', {
      required: true,
      always: true,
    }),
    singular: text(2, 'Singular name; defaults to the kind in lower case.'),
    shortNames: texts(3, 'Short names for clients.'),
    kind: text(4, 'Kind of the objects: CamelCase and singular.', { required: true, always: true }),
    listKind: text(5, 'Kind of lists; defaults to KINDList.'),
    categories: texts(6, 'Categories that include the resource, such as all.'),
  },
)

const serviceReferenceSchema = openStruct(
  'apiextensions.v1.ServiceReference',
  'Reference to a Service.',
  {
    namespace: text(1, 'Namespace of the Service.', { required: true, always: true }),
    name: text(2, 'Name of the Service.', { required: true, always: true }),
    path: text(3, 'Path of the request; / by default.', { optional: true }),
    port: int32(4, 'Port of the Service.', { optional: true, default: 443 }),
  },
  { check: checkWebhookService },
)

const clientConfigSchema = openStruct(
  'apiextensions.v1.WebhookClientConfig',
  'Address of a webhook.',
  {
    url: text(3, 'URL of the webhook: https, without user, query or fragment.', { optional: true }),
    service: maybe(1, serviceReferenceSchema, 'Service in front of the webhook.'),
    caBundle: bytes(2, "CA bundle that verifies the webhook's certificate: PEM, in base64."),
  },
  { check: checkWebhookClient },
)

const webhookConversionSchema = openStruct(
  'apiextensions.v1.WebhookConversion',
  'Settings of a conversion webhook.',
  {
    clientConfig: maybe(2, clientConfigSchema, 'Address of the webhook.'),
    conversionReviewVersions: texts(3, 'Supported ConversionReview versions, in order of preference.', {
      required: true,
      always: true,
    }),
  },
)

const conversionSchema = openStruct(
  'apiextensions.v1.CustomResourceConversion',
  'Conversion between versions of the resource.',
  {
    strategy: text(1, 'Strategy: None changes only apiVersion; Webhook calls the webhook.', {
      required: true,
      always: true,
    }),
    webhook: maybe(2, webhookConversionSchema, 'Webhook of the strategy Webhook.'),
  },
)

const columnSchema = openStruct('apiextensions.v1.CustomResourceColumnDefinition', 'A printer column.', {
  name: text(1, 'Header of the column.', { required: true, always: true }),
  type: text(2, 'Type of the values.', { required: true, always: true }),
  format: text(3, 'Format of the values, for clients.'),
  description: text(4, 'Description of the column.'),
  priority: int32(5, 'Priority; columns above 0 are shown only in wide output.'),
  jsonPath: text(6, 'JSONPath of the value, such as .spec.replicas.', {
    required: true,
    always: true,
  }),
})

const selectableFieldSchema = openStruct(
  'apiextensions.v1.SelectableField',
  'A field that field selectors may use.',
  { jsonPath: text(1, 'JSONPath of the field, such as .spec.color.', { required: true, always: true }) },
)

const scaleSchema = openStruct(
  'apiextensions.v1.CustomResourceSubresourceScale',
  'Paths of the scale subresource.',
  {
    specReplicasPath: text(1, 'JSONPath of the desired replica count, under .spec.', {
      required: true,
      always: true,
    }),
    statusReplicasPath: text(2, 'JSONPath of the observed replica count, under .status.', {
      required: true,
      always: true,
    }),
    labelSelectorPath: text(3, 'JSONPath of the label selector, serialized as text.', {
      optional: true,
    }),
  },
)

const subresourcesSchema = openStruct(
  'apiextensions.v1.CustomResourceSubresources',
  'Subresources of the custom resource.',
  {
    status: maybe(
      1,
      openStruct('apiextensions.v1.CustomResourceSubresourceStatus', 'The status subresource.', {}),
      'Enables the status subresource; the main path ignores changes of status then.',
    ),
    scale: maybe(2, scaleSchema, 'Enables the scale subresource.'),
  },
)

function specSchema(names: Names): ObjectSchema {
  const validation = openStruct(
    'apiextensions.v1.CustomResourceValidation',
    'Validation of custom objects.',
    {
      openAPIV3Schema: maybe(1, jsonSchemaProps(names), 'OpenAPI v3 schema of the objects.'),
    },
  )
  const version = openStruct(
    'apiextensions.v1.CustomResourceDefinitionVersion',
    'A version of a custom resource.',
    {
      name: text(1, 'Name of the version, as in paths: v1 or v1beta1.', { required: true, always: true }),
      served: flag(2, 'Whether the version is served.', { required: true, always: true }),
      storage: flag(3, 'Whether objects are stored in this version; true for exactly one version.', {
        required: true,
        always: true,
      }),
      deprecated: flag(7, 'Whether the version is deprecated; clients receive a warning then.'),
      deprecationWarning: text(8, 'Text of the deprecation warning; a default text when unset.', {
        optional: true,
      }),
      schema: maybe(4, validation, 'Schema of this version.'),
      subresources: maybe(5, subresourcesSchema, 'Subresources of this version.'),
      additionalPrinterColumns: listOf(6, columnSchema, 'Printer columns; only the age by default.'),
      selectableFields: listOf(9, selectableFieldSchema, 'Fields that field selectors may use.'),
    },
  )
  return openStruct('apiextensions.v1.CustomResourceDefinitionSpec', 'Specification of a custom resource.', {
    group: text(1, 'API group, such as example.com; part of the paths.', { required: true, always: true }),
    names: part(3, namesSchema, 'Names of the resource.', { required: true, always: true }),
    scope: text(4, 'Scope of the resource: Namespaced or Cluster.', {
      required: true,
      always: true,
    }),
    versions: listOf(7, version, 'Versions of the resource.', { required: true, always: true }),
    conversion: maybe(9, conversionSchema, 'Conversion between versions.'),
    preserveUnknownFields: flag(
      10,
      `Deprecated: whether fields without a schema are stored, not pruned. It cannot be set to true; set ${names.schemaMarkerPrefix}preserve-unknown-fields in the schema of a version instead.`,
    ),
  })
}

const conditionSchema = openStruct(
  'apiextensions.v1.CustomResourceDefinitionCondition',
  'A condition of a definition.',
  {
    type: text(1, 'Type of the condition: Established, NamesAccepted, Terminating and others.', {
      required: true,
      always: true,
    }),
    status: text(2, 'Status of the condition: True, False or Unknown.', { required: true, always: true }),
    lastTransitionTime: time(3, 'Time of the last change of the status.'),
    reason: text(4, 'Machine-readable reason, in CamelCase.'),
    message: text(5, 'Human-readable message.'),
  },
)

const statusSchema = openStruct(
  'apiextensions.v1.CustomResourceDefinitionStatus',
  'Observed state of a definition.',
  {
    conditions: listOf(1, conditionSchema, 'Conditions of the definition.', {
      listType: 'map',
      listMapKeys: ['type'],
      always: true,
    }),
    acceptedNames: part(
      2,
      namesSchema,
      'Names in use; some requested names may conflict with another resource.',
    ),
    storedVersions: texts(3, 'Versions in which objects may be stored.', { always: true }),
  },
)
