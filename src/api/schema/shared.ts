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
    apiVersion: { description: 'Group and version of the owner.', ...text },
    kind: { description: 'Kind of the owner.', ...text },
    name: { description: 'Name of the owner.', ...text },
    uid: { description: 'UID of the owner.', ...text },
    controller: {
      zeroMatters: true,
      description: 'Whether the owner is the managing controller; true for at most one owner.',
      ...flag,
    },
    blockOwnerDeletion: {
      zeroMatters: true,
      description: 'Whether foreground deletion of the owner waits until this object is deleted.',
      ...flag,
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
    manager: { description: 'Name of the field manager.', ...text },
    operation: { description: 'Operation that set the fields: Apply or Update.', ...text },
    apiVersion: { description: 'API version of the field set.', ...text },
    time: { zeroMatters: true, description: 'Time of the last change of the entry.', ...time },
    fieldsType: { description: 'Format of the field set; always FieldsV1.', ...text },
    fieldsV1: { type: 'any', zeroMatters: true, description: 'The field set as a tree.' },
    subresource: { description: 'Subresource that was used; empty for the main resource.', ...text },
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
    name: { description: 'Name of the object, unique for its kind and namespace; immutable.', ...text },
    generateName: { description: 'Prefix for a generated name, used when name is empty.', ...text },
    namespace: { description: 'Namespace of the object; immutable.', ...text },
    selfLink: { description: 'Deprecated; never set.', ...text },
    uid: { description: 'Unique ID of the object over all time; set by the server.', ...text },
    resourceVersion: {
      description: 'Opaque version of the object for optimistic concurrency and watches.',
      ...text,
    },
    generation: {
      description: 'Generation of the desired state, increased by each change; set by the server.',
      ...int64,
    },
    creationTimestamp: {
      always: true,
      description: 'Creation time; set by the server.',
      ...time,
    },
    deletionTimestamp: {
      zeroMatters: true,
      description: 'Time at which the grace period ends; the object is removed when it has no finalizers.',
      ...time,
    },
    deletionGracePeriodSeconds: {
      zeroMatters: true,
      description: 'Grace period of the deletion in seconds; set with deletionTimestamp.',
      ...int64,
    },
    labels: { description: 'Labels: keys and values to organize and select objects.', ...textMap },
    annotations: {
      description: 'Annotations: keys and values for tools; selectors cannot use them.',
      ...textMap,
    },
    ownerReferences: {
      type: 'list',
      items: ownerReferenceSchema,
      patchMergeKey: 'uid',
      patchStrategy: 'merge',
      description: 'Owners of this object; it is garbage collected when all owners are deleted.',
    },
    finalizers: {
      patchStrategy: 'merge',
      description: 'Finalizers that must be removed before the object is deleted.',
      ...texts,
    },
    clusterName: { description: 'Deprecated; ignored.', ...text },
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
    selfLink: { description: 'Deprecated; never set.', ...text },
    resourceVersion: { description: 'Resource version of the list.', ...text },
    continue: { description: 'Token for the next page; empty on the last page.', ...text },
    remainingItemCount: {
      zeroMatters: true,
      description: 'Estimated number of remaining items, if known.',
      ...int64,
    },
  },
  protobuf: { selfLink: 1, resourceVersion: 2, continue: 3, remainingItemCount: 4 },
}

export const labelSelectorSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.LabelSelector',
  description: 'Label selector; all requirements must match, and an empty selector matches everything.',
  properties: {
    matchLabels: { description: 'Labels that must have exactly these values.', ...textMap },
    matchExpressions: {
      type: 'list',
      items: {
        type: 'object',
        definition: 'meta.v1.LabelSelectorRequirement',
        description: 'A requirement on one label.',
        properties: {
          key: { description: 'Key of the label.', ...text },
          operator: { description: 'Operator: In, NotIn, Exists or DoesNotExist.', ...text },
          values: { description: 'Values for In and NotIn; at least one.', ...texts },
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
  kind: { description: 'Kind of the object, in CamelCase.', ...text },
  apiVersion: { description: 'API version of the object: group and version.', ...text },
}

export const deleteOptionsSchema: ObjectSchema = {
  type: 'object',
  definition: 'meta.v1.DeleteOptions',
  description: 'Options of a deletion.',
  properties: {
    ...typeMeta,
    gracePeriodSeconds: {
      zeroMatters: true,
      description: 'Grace period in seconds; 0 deletes at once.',
      ...int64,
    },
    preconditions: {
      type: 'object',
      definition: 'meta.v1.Preconditions',
      zeroMatters: true,
      description: 'Preconditions of the deletion.',
      properties: {
        uid: { zeroMatters: true, description: 'Required UID of the object.', ...text },
        resourceVersion: {
          zeroMatters: true,
          description: 'Required resource version of the object.',
          ...text,
        },
      },
      protobuf: { uid: 1, resourceVersion: 2 },
    },
    orphanDependents: { zeroMatters: true, description: 'Deprecated; use propagationPolicy.', ...flag },
    propagationPolicy: {
      zeroMatters: true,
      description: 'What happens to dependents: Orphan, Background or Foreground.',
      ...text,
    },
    dryRun: { description: 'Dry run: All evaluates the request without storing anything.', ...texts },
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
    status: { description: 'Success or Failure.', ...text },
    message: { description: 'Human-readable message.', ...text },
    reason: { description: 'Machine-readable reason, in CamelCase.', ...text },
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
    code: { description: 'HTTP status code.', ...int32 },
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
