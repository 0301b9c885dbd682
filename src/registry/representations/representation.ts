import type { Encoding } from '../../api/codec/document.ts'
import type { TypeMeta } from '../../api/codec/protobuf-envelope.ts'
import type { JsonObject } from '../../api/json.ts'
import { partialObjectMetadataSchema } from '../../api/schema/shared.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { apiVersionOf, listKindOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import type { TableShape } from './table.ts'

/** How a response represents its objects: their form and encoding. @source spec 4.7 */
export type Representation =
  /** The whole objects. */
  | { readonly as: 'object'; readonly encoding: Encoding }
  /** The metadata only. @param apiVersion of `PartialObjectMetadata`, as the client named it */
  | { readonly as: 'partial'; readonly encoding: Encoding; readonly apiVersion: string }
  /** Rows of cells; tables have no protobuf encoding. */
  | { readonly as: 'table'; readonly encoding: 'json' | 'yaml'; readonly shape: TableShape }

/** The form in which objects are stored. */
export const STORED_FORM: Representation = Object.freeze({ as: 'object', encoding: 'json' })

/** Representations that are converted object by object. */
export type Converted = Exclude<Representation, { readonly as: 'table' }>

/** Whether objects are sent as stored. */
export function isStoredForm({ as, encoding }: Representation): boolean {
  return as === 'object' && encoding === 'json'
}

/**
 * Whether the kind has a protobuf encoding: custom resources have no field numbers. @source spec
 * 4.7
 */
export function hasProtobuf(definition: Pick<ResourceDefinition, 'schema'>): boolean {
  return definition.schema.protobuf !== undefined
}

/** How one object is converted before it is encoded. */
export type Form = {
  readonly schema: ObjectSchema
  readonly type: TypeMeta
  readonly listType: TypeMeta
  readonly shown: (object: AnyObject) => JsonObject
}

/** @param whole schema of the kind including the common fields */
export function formOf(definition: ResourceDefinition, representation: Converted, whole: ObjectSchema): Form {
  if (representation.as === 'object') {
    const { kind } = definition
    const apiVersion = apiVersionOf(definition)
    const listType = { apiVersion, kind: listKindOf(definition) }
    return { schema: whole, type: { apiVersion, kind }, listType, shown: (object) => object }
  }
  const { apiVersion } = representation
  const type = { apiVersion, kind: 'PartialObjectMetadata' }
  return {
    schema: partialObjectMetadataSchema,
    type,
    listType: { apiVersion, kind: 'PartialObjectMetadataList' },
    shown: ({ metadata }) => ({ kind: type.kind, apiVersion, metadata }),
  }
}
