import type { Encoding } from '../../api/codec/document.ts'
import type { TypeMeta } from '../../api/codec/protobuf-envelope.ts'
import type { JsonObject } from '../../api/json.ts'
import { partialObjectMetadataSchema } from '../../api/schema/shared.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { apiVersionOf, listKindOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import type { TableShape } from './table.ts'

/** What an answer shows of its objects, and how that is written. @source spec 4.7 */
export type Representation =
  /** All of them. */
  | { readonly as: 'object'; readonly encoding: Encoding }
  /** Their metadata. @param apiVersion of `PartialObjectMetadata`, as the client named it */
  | { readonly as: 'partial'; readonly encoding: Encoding; readonly apiVersion: string }
  /** Rows of cells; there are no messages for them. */
  | { readonly as: 'table'; readonly encoding: 'json' | 'yaml'; readonly shape: TableShape }

/** The bytes that are stored. */
export const STORED_FORM: Representation = Object.freeze({ as: 'object', encoding: 'json' })

/** What answers are that are converted object by object. */
export type Converted = Exclude<Representation, { readonly as: 'table' }>

/** Whether objects go out as they are stored. */
export function isStoredForm({ as, encoding }: Representation): boolean {
  return as === 'object' && encoding === 'json'
}

/** Custom resources have no numbers for their members, and so no messages. @source spec 4.7 */
export function hasProtobuf(definition: Pick<ResourceDefinition, 'schema'>): boolean {
  return definition.schema.protobuf !== undefined
}

/** What becomes of one object before it is written. */
export type Form = {
  readonly schema: ObjectSchema
  readonly type: TypeMeta
  readonly listType: TypeMeta
  readonly shown: (object: AnyObject) => JsonObject
}

/** @param whole the kind's schema with what all kinds share */
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
