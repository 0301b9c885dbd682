import type { ListSchema, MapSchema, ObjectSchema, Schema, StringSchema } from './schema.ts'

/** Schemas that kinds share, with their protobuf field numbers. */

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
  description: 'Reference to an owner of this object, in the same namespace or cluster-scoped.',
  properties: {
    apiVersion: { ...text, description: 'Group and version of the owner.' },
    kind: { ...text, description: 'Kind of the owner.' },
    name: { ...text, description: 'Name of the owner.' },
    uid: { ...text, description: 'UID of the owner.' },
    controller: {
      ...flag,
      zeroMatters: true,
      description: 'Whether the owner is the managing controller; true for at most one owner.',
    },
    blockOwnerDeletion: {
      ...flag,
      zeroMatters: true,
      description: 'Whether foreground deletion of the owner waits until this object is deleted.',
    },
  },
  required: ['apiVersion', 'kind', 'name', 'uid'],
  protobuf: { apiVersion: 5, kind: 1, name: 3, uid: 4, controller: 6, blockOwnerDeletion: 7 },
  mapType: 'atomic',
}

export const managedFieldsEntrySchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.ManagedFieldsEntry',
  description: 'The fields that one manager set through one API version.',
  properties: {
    manager: { ...text, description: 'Name of the field manager.' },
    operation: { ...text, description: 'Operation that set the fields: Apply or Update.' },
    apiVersion: { ...text, description: 'API version of the field set.' },
    time: { ...time, zeroMatters: true, description: 'Time of the last change of the entry.' },
    fieldsType: { ...text, description: 'Format of the field set; always FieldsV1.' },
    fieldsV1: { type: 'any', zeroMatters: true, description: 'The field set as a tree.' },
    subresource: { ...text, description: 'Subresource that was used; empty for the main resource.' },
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
  description: 'Metadata that all stored objects have.',
  properties: {
    name: { ...text, description: 'Name of the object, unique for its kind and namespace; immutable.' },
    generateName: { ...text, description: 'Prefix for a generated name, used when name is empty.' },
    namespace: { ...text, description: 'Namespace of the object; immutable.' },
    selfLink: { ...text, description: 'Deprecated; never set.' },
    uid: { ...text, description: 'Unique ID of the object over all time; set by the server.' },
    resourceVersion: {
      ...text,
      description: 'Opaque version of the object for optimistic concurrency and watches.',
    },
    generation: {
      ...int64,
      description: 'Generation of the desired state, increased by each change; set by the server.',
    },
    creationTimestamp: {
      ...time,
      always: true,
      description: 'Creation time; set by the server.',
    },
    deletionTimestamp: {
      ...time,
      zeroMatters: true,
      description: 'Time at which the grace period ends; the object is removed when it has no finalizers.',
    },
    deletionGracePeriodSeconds: {
      ...int64,
      zeroMatters: true,
      description: 'Grace period of the deletion in seconds; set with deletionTimestamp.',
    },
    labels: { ...textMap, description: 'Labels: keys and values to organize and select objects.' },
    annotations: {
      ...textMap,
      description: 'Annotations: keys and values for tools; selectors cannot use them.',
    },
    ownerReferences: {
      type: 'list',
      items: ownerReferenceSchema,
      patchMergeKey: 'uid',
      patchStrategy: 'merge',
      description: 'Owners of this object; it is garbage collected when all owners are deleted.',
    },
    finalizers: {
      ...texts,
      patchStrategy: 'merge',
      description: 'Finalizers that must be removed before the object is deleted.',
    },
    clusterName: { ...text, description: 'Deprecated; ignored.' },
    managedFields: {
      type: 'list',
      items: managedFieldsEntrySchema,
      description: 'Ownership of fields by manager; maintained by the server.',
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
  description: 'Metadata of lists and of responses without an object.',
  properties: {
    selfLink: { ...text, description: 'Deprecated; never set.' },
    resourceVersion: { ...text, description: 'Resource version of the list.' },
    continue: { ...text, description: 'Token for the next page; empty on the last page.' },
    remainingItemCount: {
      ...int64,
      zeroMatters: true,
      description: 'Estimated number of remaining items, if known.',
    },
  },
  protobuf: { selfLink: 1, resourceVersion: 2, continue: 3, remainingItemCount: 4 },
}

export const labelSelectorSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.LabelSelector',
  description: 'Label selector; all requirements must match, and an empty selector matches everything.',
  properties: {
    matchLabels: { ...textMap, description: 'Labels that must have exactly these values.' },
    matchExpressions: {
      type: 'list',
      items: {
        type: 'object',
        definition: 'meta.v1.LabelSelectorRequirement',
        description: 'A requirement on one label.',
        properties: {
          key: { ...text, description: 'Key of the label.' },
          operator: { ...text, description: 'Operator: In, NotIn, Exists or DoesNotExist.' },
          values: { ...texts, description: 'Values for In and NotIn; at least one.' },
        },
        required: ['key', 'operator'],
        protobuf: { key: 1, operator: 2, values: 3 },
      },
      description: 'Requirements on labels.',
    },
  },
  protobuf: { matchLabels: 1, matchExpressions: 2 },
  mapType: 'atomic',
}

const typeMeta = {
  kind: { ...text, description: 'Kind of the object, in CamelCase.' },
  apiVersion: { ...text, description: 'API version of the object: group and version.' },
}

export const deleteOptionsSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.DeleteOptions',
  description: 'Options of a deletion.',
  properties: {
    ...typeMeta,
    gracePeriodSeconds: {
      ...int64,
      zeroMatters: true,
      description: 'Grace period in seconds; 0 deletes at once.',
    },
    preconditions: {
      type: 'object',
      definition: 'meta.v1.Preconditions',
      zeroMatters: true,
      description: 'Preconditions of the deletion.',
      properties: {
        uid: { ...text, zeroMatters: true, description: 'Required UID of the object.' },
        resourceVersion: {
          ...text,
          zeroMatters: true,
          description: 'Required resource version of the object.',
        },
      },
      protobuf: { uid: 1, resourceVersion: 2 },
    },
    orphanDependents: { ...flag, zeroMatters: true, description: 'Deprecated; use propagationPolicy.' },
    propagationPolicy: {
      ...text,
      zeroMatters: true,
      description: 'What happens to dependents: Orphan, Background or Foreground.',
    },
    dryRun: { ...texts, description: 'Dry run: All evaluates the request without storing anything.' },
  },
  protobuf: { gracePeriodSeconds: 1, preconditions: 2, orphanDependents: 3, propagationPolicy: 4, dryRun: 5 },
}

export const statusSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.Status',
  description: 'Status of a request that does not return an object.',
  properties: {
    ...typeMeta,
    metadata: { ...listMetaSchema, always: true },
    status: { ...text, description: 'Success or Failure.' },
    message: { ...text, description: 'Human-readable message.' },
    reason: { ...text, description: 'Machine-readable reason, in CamelCase.' },
    details: {
      type: 'object',
      definition: 'meta.v1.StatusDetails',
      zeroMatters: true,
      description: 'Details about the subject of the error.',
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
            description: 'One of several causes of the error.',
            properties: { reason: text, message: text, field: text },
            protobuf: { reason: 1, message: 2, field: 3 },
          },
        },
        retryAfterSeconds: int32,
      },
      protobuf: { name: 1, group: 2, kind: 3, uid: 6, causes: 4, retryAfterSeconds: 5 },
    },
    code: { ...int32, description: 'HTTP status code.' },
  },
  protobuf: { metadata: 1, status: 2, message: 3, reason: 4, details: 5, code: 6 },
}

const wholeMetaSchema: ObjectSchema = { ...objectMetaSchema, always: true }

/** The part of an object that all kinds share. */
export const partialObjectMetadataSchema: ObjectSchema = wholeObject({
  type: 'object',
  definition: 'meta.v1.PartialObjectMetadata',
  description: 'The metadata of an object, without the rest.',
  properties: {},
})

/** Returns a kind's schema with the members that all kinds share. Call it once per kind. */
export function wholeObject(schema: ObjectSchema): ObjectSchema {
  return {
    ...schema,
    properties: { ...typeMeta, metadata: wholeMetaSchema, ...schema.properties },
    protobuf: { metadata: 1, ...schema.protobuf },
  }
}
