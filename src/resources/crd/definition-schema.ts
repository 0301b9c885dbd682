import type { Names } from '../../api/metadata/names.ts'
import { bytes, flag, int32, listOf, maybe, part, struct, text, texts, time } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { checkWebhookClient, checkWebhookService } from '../webhooks/webhook-client.ts'
import { jsonSchemaProps } from './json-schema-props.ts'

/**
 * The shape of a definition. It has no numbers, and so no messages: what a definition describes has none either.
 *
 * @source apiextensions/v1; spec 4.7
 */
export function definitionSchema(names: Names): ObjectSchema {
  const { properties, required = [] } = struct('apiextensions.v1.CustomResourceDefinition', '', {
    spec: part(2, specSchema(names), 'The kind.', { required: true, always: true }),
    status: part(3, statusSchema, 'What became of it; set by the server.'),
  })
  return {
    type: 'object',
    definition: 'apiextensions.v1.CustomResourceDefinition',
    description: 'Describes a kind that the server serves from then on as it serves its own.',
    properties,
    required,
  }
}

const namesSchema = struct('apiextensions.v1.CustomResourceDefinitionNames', 'What a kind is called.', {
  plural: text(1, 'In paths; the definition is named PLURAL.GROUP.', { required: true, always: true }),
  singular: text(2, 'Of one; the kind in lower case unless said.'),
  shortNames: texts(3, 'Shorter words for clients to take.'),
  kind: text(4, 'What objects say they are: CamelCase, of one.', { required: true, always: true }),
  listKind: text(5, 'What lists of them say they are; KINDList unless said.'),
  categories: texts(6, 'Words under which clients ask for several kinds at once, such as all.'),
})

const serviceReferenceSchema = struct(
  'apiextensions.v1.ServiceReference',
  'Names a Service.',
  {
    namespace: text(1, 'Namespace of the Service.', { required: true, always: true }),
    name: text(2, 'Name of the Service.', { required: true, always: true }),
    path: text(3, 'Path of the request; / unless said.', { optional: true }),
    port: int32(4, 'Port of the Service.', { optional: true, default: 443 }),
  },
  { check: checkWebhookService },
)

const clientConfigSchema = struct(
  'apiextensions.v1.WebhookClientConfig',
  'Where a webhook is.',
  {
    url: text(3, 'Where it is: https, without user, query or fragment.', { optional: true }),
    service: maybe(1, serviceReferenceSchema, 'The Service it is behind.'),
    caBundle: bytes(2, 'Who vouches for its certificate: PEM, in base64.'),
  },
  { check: checkWebhookClient },
)

const webhookConversionSchema = struct('apiextensions.v1.WebhookConversion', 'How a webhook converts.', {
  clientConfig: maybe(2, clientConfigSchema, 'Where it is.'),
  conversionReviewVersions: texts(3, 'Versions of reviews that it takes, the best first.', {
    required: true,
    always: true,
  }),
})

const conversionSchema = struct(
  'apiextensions.v1.CustomResourceConversion',
  'How objects become those of another version.',
  {
    strategy: text(1, 'None: only apiVersion changes. Webhook: stored, but not called yet.', {
      required: true,
      always: true,
    }),
    webhook: maybe(2, webhookConversionSchema, 'What converts, where that is a webhook.'),
  },
)

const columnSchema = struct(
  'apiextensions.v1.CustomResourceColumnDefinition',
  'A column of the tables that clients show.',
  {
    name: text(1, 'What stands above it.', { required: true, always: true }),
    type: text(2, 'Type of its cells.', { required: true, always: true }),
    format: text(3, 'What the cells are beyond that; clients may use it.'),
    description: text(4, 'What the column is about.'),
    priority: int32(5, 'Above 0: only where a client shows all there is.'),
    jsonPath: text(6, 'Where in the object its cells come from, such as .spec.replicas.', {
      required: true,
      always: true,
    }),
  },
)

const selectableFieldSchema = struct(
  'apiextensions.v1.SelectableField',
  'A field that field selectors may name.',
  { jsonPath: text(1, 'Where in the object it is, such as .spec.color.', { required: true, always: true }) },
)

const scaleSchema = struct(
  'apiextensions.v1.CustomResourceSubresourceScale',
  'Where an object says how many copies it stands for.',
  {
    specReplicasPath: text(1, 'Where it says how many there shall be, under .spec.', {
      required: true,
      always: true,
    }),
    statusReplicasPath: text(2, 'Where it says how many there are, under .status.', {
      required: true,
      always: true,
    }),
    labelSelectorPath: text(3, 'Where it says, as a text, by which labels they are found.', {
      optional: true,
    }),
  },
)

const subresourcesSchema = struct(
  'apiextensions.v1.CustomResourceSubresources',
  'Paths under an object that clients may use.',
  {
    status: maybe(
      1,
      struct('apiextensions.v1.CustomResourceSubresourceStatus', 'status is a path of its own.', {}),
      'Status is written at a path of its own, and nowhere else.',
    ),
    scale: maybe(2, scaleSchema, 'How many copies there shall be is written at a path of its own.'),
  },
)

function specSchema(names: Names): ObjectSchema {
  const validation = struct('apiextensions.v1.CustomResourceValidation', 'What objects have to be.', {
    openAPIV3Schema: maybe(1, jsonSchemaProps(names), 'The shape of the objects.'),
  })
  const version = struct('apiextensions.v1.CustomResourceDefinitionVersion', 'One version of the kind.', {
    name: text(1, 'In paths, such as v1 or v1beta1.', { required: true, always: true }),
    served: flag(2, 'Whether clients can ask for it.', { required: true, always: true }),
    storage: flag(3, 'Whether objects are stored in it; so they are in exactly one.', {
      required: true,
      always: true,
    }),
    deprecated: flag(7, 'Whoever uses it is warned.'),
    deprecationWarning: text(8, 'In these words; a plain sentence unless said.', { optional: true }),
    schema: maybe(4, validation, 'What objects have to be in this version.'),
    subresources: maybe(5, subresourcesSchema, 'Paths under an object.'),
    additionalPrinterColumns: listOf(6, columnSchema, 'Columns of tables; the age unless said.'),
    selectableFields: listOf(
      9,
      selectableFieldSchema,
      'Fields for field selectors. Stored, but not served yet.',
    ),
  })
  return struct('apiextensions.v1.CustomResourceDefinitionSpec', 'What a kind is.', {
    group: text(1, 'API group, such as example.com; part of the paths.', { required: true, always: true }),
    names: part(3, namesSchema, 'What the kind is called.', { required: true, always: true }),
    scope: text(4, 'Whether its objects lie in namespaces: Namespaced or Cluster.', {
      required: true,
      always: true,
    }),
    versions: listOf(7, version, 'The versions of the kind.', { required: true, always: true }),
    conversion: maybe(9, conversionSchema, 'How objects become those of another version.'),
    preserveUnknownFields: flag(10, 'Not taken as true: what no schema describes is dropped.'),
  })
}

const conditionSchema = struct(
  'apiextensions.v1.CustomResourceDefinitionCondition',
  'One thing that is or is not so of a definition.',
  {
    type: text(1, 'What: Established, NamesAccepted, Terminating and others.', {
      required: true,
      always: true,
    }),
    status: text(2, 'True, False or Unknown.', { required: true, always: true }),
    lastTransitionTime: time(3, 'When that last changed.'),
    reason: text(4, 'Why, in one word for programs.'),
    message: text(5, 'Why, for people.'),
  },
)

const statusSchema = struct('apiextensions.v1.CustomResourceDefinitionStatus', 'What became of a kind.', {
  conditions: listOf(1, conditionSchema, 'What is and what is not so.', {
    listType: 'map',
    listMapKeys: ['type'],
    always: true,
  }),
  acceptedNames: part(2, namesSchema, 'The names that are in use: some may be taken by another kind.'),
  storedVersions: texts(3, 'Versions in which there may be stored objects.', { always: true }),
})
