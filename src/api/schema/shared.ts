import type { ListSchema, MapSchema, ObjectSchema, Schema, StringSchema } from './schema.ts'

/** Shapes that kinds share, with the numbers of their protobuf messages. */

const text: StringSchema = { type: 'string' }
const time: StringSchema = { type: 'string', format: 'date-time' }
const texts: ListSchema = { type: 'list', items: text }
const textMap: MapSchema = { type: 'map', values: text }
const int64: Schema = { type: 'integer', format: 'int64' }
const int32: Schema = { type: 'integer', format: 'int32' }
const flag: Schema = { type: 'boolean' }

export const ownerReferenceSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.OwnerReference',
  description: 'Names another object of the same namespace, or of no namespace, that this one depends on.',
  properties: {
    apiVersion: { ...text, description: 'Group and version of the owner.' },
    kind: { ...text, description: 'Kind of the owner.' },
    name: { ...text, description: 'Name of the owner.' },
    uid: { ...text, description: 'uid of the owner.' },
    controller: {
      ...flag,
      zeroMatters: true,
      description: 'The owner manages this object; true for one owner at most.',
    },
    blockOwnerDeletion: {
      ...flag,
      zeroMatters: true,
      description: 'The owner stays until this object is gone, when deletion is in the foreground.',
    },
  },
  required: ['apiVersion', 'kind', 'name', 'uid'],
  protobuf: { apiVersion: 5, kind: 1, name: 3, uid: 4, controller: 6, blockOwnerDeletion: 7 },
  mapType: 'atomic',
}

export const managedFieldsEntrySchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.ManagedFieldsEntry',
  description: 'The fields that one manager set through one version.',
  properties: {
    manager: { ...text, description: 'Who manages these fields.' },
    operation: { ...text, description: 'How they were set: Apply or Update.' },
    apiVersion: { ...text, description: 'Version of the object that the fields belong to.' },
    time: { ...time, zeroMatters: true, description: 'When the entry last changed.' },
    fieldsType: { ...text, description: 'Form of the set of fields; only FieldsV1.' },
    fieldsV1: { type: 'any', zeroMatters: true, description: 'The set of fields as a tree.' },
    subresource: { ...text, description: 'Subresource they were set through; empty for the object itself.' },
  },
  protobuf: {
    manager: 1,
    operation: 2,
    apiVersion: 3,
    time: 4,
    fieldsType: 6,
    fieldsV1: 7,
    subresource: 8,
  },
}

export const objectMetaSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.ObjectMeta',
  description: 'What all stored objects have in common.',
  properties: {
    name: { ...text, description: 'Unique for its kind in its namespace; cannot change.' },
    generateName: { ...text, description: 'Prefix of a name the server makes when no name is given.' },
    namespace: { ...text, description: 'The space in which the name is unique; cannot change.' },
    selfLink: { ...text, description: 'No longer filled in.' },
    uid: { ...text, description: 'Tells this object from any other of all times; set by the server.' },
    resourceVersion: {
      ...text,
      description: 'Opaque version of the object; given back on an update it guards against lost changes.',
    },
    generation: { ...int64, description: 'Counts changes of what is wanted; set by the server.' },
    creationTimestamp: {
      ...time,
      always: true,
      description: 'When the object was created; set by the server.',
    },
    deletionTimestamp: {
      ...time,
      zeroMatters: true,
      description: 'When deletion was asked for; the object goes when its finalizers are gone.',
    },
    deletionGracePeriodSeconds: {
      ...int64,
      zeroMatters: true,
      description: 'Time to end in good order; set with the deletion.',
    },
    labels: { ...textMap, description: 'Keys and values to organize and select objects by.' },
    annotations: { ...textMap, description: 'Keys and values of tools; not selected by.' },
    ownerReferences: {
      type: 'list',
      items: ownerReferenceSchema,
      patchMergeKey: 'uid',
      patchStrategy: 'merge',
      description: 'Objects this one depends on; it is collected when all of them are gone.',
    },
    finalizers: {
      ...texts,
      patchStrategy: 'merge',
      description: 'Who has something to do before the object may go.',
    },
    clusterName: { ...text, description: 'No longer used.' },
    managedFields: {
      type: 'list',
      items: managedFieldsEntrySchema,
      description: 'Which manager set which fields; kept by the server.',
    },
  },
  protobuf: {
    name: 1,
    generateName: 2,
    namespace: 3,
    selfLink: 4,
    uid: 5,
    resourceVersion: 6,
    generation: 7,
    creationTimestamp: 8,
    deletionTimestamp: 9,
    deletionGracePeriodSeconds: 10,
    labels: 11,
    annotations: 12,
    ownerReferences: 13,
    finalizers: 14,
    clusterName: 15,
    managedFields: 17,
  },
}

export const listMetaSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.ListMeta',
  description: 'What lists and answers without an object have in common.',
  properties: {
    selfLink: { ...text, description: 'No longer filled in.' },
    resourceVersion: { ...text, description: 'Version at which the list was made.' },
    continue: { ...text, description: 'Token for the next part; empty at the end.' },
    remainingItemCount: {
      ...int64,
      zeroMatters: true,
      description: 'About how many items follow, where that is known.',
    },
  },
  protobuf: { selfLink: 1, resourceVersion: 2, continue: 3, remainingItemCount: 4 },
}

export const labelSelectorSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.LabelSelector',
  description: 'Selects objects by their labels; all parts must hold, and an empty one selects all.',
  properties: {
    matchLabels: { ...textMap, description: 'Labels that must have these values.' },
    matchExpressions: {
      type: 'list',
      items: {
        type: 'object',
        definition: 'meta.v1.LabelSelectorRequirement',
        description: 'A rule for one label.',
        properties: {
          key: { ...text, description: 'The label.' },
          operator: { ...text, description: 'In, NotIn, Exists or DoesNotExist.' },
          values: { ...texts, description: 'For In and NotIn: at least one.' },
        },
        required: ['key', 'operator'],
        protobuf: { key: 1, operator: 2, values: 3 },
      },
      description: 'Rules for labels.',
    },
  },
  protobuf: { matchLabels: 1, matchExpressions: 2 },
  mapType: 'atomic',
}

const typeMeta = {
  kind: { ...text, description: 'What the object is; CamelCase.' },
  apiVersion: { ...text, description: 'Group and version of the shape this object has.' },
}

export const deleteOptionsSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.DeleteOptions',
  description: 'How to delete.',
  properties: {
    ...typeMeta,
    gracePeriodSeconds: {
      ...int64,
      zeroMatters: true,
      description: 'Time to end in good order; 0 is at once.',
    },
    preconditions: {
      type: 'object',
      definition: 'meta.v1.Preconditions',
      zeroMatters: true,
      description: 'What must hold, or nothing is deleted.',
      properties: {
        uid: { ...text, zeroMatters: true, description: 'The uid the object must have.' },
        resourceVersion: { ...text, zeroMatters: true, description: 'The version the object must have.' },
      },
      protobuf: { uid: 1, resourceVersion: 2 },
    },
    orphanDependents: { ...flag, zeroMatters: true, description: 'Deprecated; use propagationPolicy.' },
    propagationPolicy: {
      ...text,
      zeroMatters: true,
      description: 'What becomes of dependents: Orphan, Background or Foreground.',
    },
    dryRun: { ...texts, description: 'All: nothing is stored.' },
  },
  protobuf: { gracePeriodSeconds: 1, preconditions: 2, orphanDependents: 3, propagationPolicy: 4, dryRun: 5 },
}

export const statusSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.Status',
  description: 'The answer of a call that does not answer with an object.',
  properties: {
    ...typeMeta,
    metadata: { ...listMetaSchema, always: true },
    status: { ...text, description: 'Success or Failure.' },
    message: { ...text, description: 'For people.' },
    reason: { ...text, description: 'For programs; one word.' },
    details: {
      type: 'object',
      definition: 'meta.v1.StatusDetails',
      zeroMatters: true,
      description: 'What the answer is about.',
      properties: {
        name: text,
        group: text,
        kind: text,
        uid: text,
        causes: {
          type: 'list',
          items: {
            type: 'object',
            definition: 'meta.v1.StatusCause',
            description: 'One of several things wrong.',
            properties: { reason: text, message: text, field: text },
            protobuf: { reason: 1, message: 2, field: 3 },
          },
        },
        retryAfterSeconds: int32,
      },
      protobuf: { name: 1, group: 2, kind: 3, uid: 6, causes: 4, retryAfterSeconds: 5 },
    },
    code: { ...int32, description: 'The HTTP code.' },
  },
  protobuf: { metadata: 1, status: 2, message: 3, reason: 4, details: 5, code: 6 },
}

const wholeMetaSchema: ObjectSchema = { ...objectMetaSchema, always: true }

/** Of an object only what all kinds share. */
export const partialObjectMetadataSchema: ObjectSchema = wholeObject({
  type: 'object',
  definition: 'meta.v1.PartialObjectMetadata',
  description: 'Of an object only what all kinds share.',
  properties: {},
})

/** A kind's schema with what all kinds share. Make it once per kind. */
export function wholeObject(schema: ObjectSchema): ObjectSchema {
  return {
    ...schema,
    properties: { ...typeMeta, metadata: wholeMetaSchema, ...schema.properties },
    protobuf: { metadata: 1, ...schema.protobuf },
  }
}
