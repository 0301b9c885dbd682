import { namesOf } from '../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../src/api/metadata/names.ts'
import {
  deleteOptionsSchema,
  partialObjectMetadataSchema,
  statusSchema,
  wholeObject,
} from '../../src/api/schema/shared.ts'
import type { ObjectSchema, Schema } from '../../src/api/schema/schema.ts'
import { hasProtobuf } from '../../src/registry/representations/representation.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import type { MessageTable } from './message-table.ts'

/** A declared shape and its name in the table. */
export type MessageSubject = { readonly name: string; readonly schema: ObjectSchema }

/** Returns every kind of one API domain that has protobuf, and the other messages of the API. */
export function messageSubjects(table: MessageTable, domain: ApiDomain): readonly MessageSubject[] {
  const names = namesOf(domain)
  const kinds = definitionsFor(names)
    .filter(hasProtobuf)
    .map(({ group, version, kind, schema }) => {
      const stem = names.groupStem(group) || 'core'
      const name = `${stem}/${version}.${kind}`
      // A beta of a kind has the messages of the version that it became.
      const later = [name, `${stem}/v1.${kind}`, `${stem}/v1beta2.${kind}`].find((known) => table.has(known))
      return { name: later ?? name, schema: wholeObject(asMessage(schema)) }
    })
  const bodies = definitionsFor(names).flatMap(({ subresources }) =>
    subresources.flatMap(({ body }) => (body === undefined || body.group === '' ? [] : [body])),
  )
  const sent = bodies.map(({ group, version, kind, schema }) => {
    return { name: `${names.groupStem(group)}/${version}.${kind}`, schema: wholeObject(asMessage(schema)) }
  })
  return [
    ...kinds,
    ...sent,
    { name: 'meta/v1.DeleteOptions', schema: deleteOptionsSchema },
    { name: 'meta/v1.PartialObjectMetadata', schema: partialObjectMetadataSchema },
    { name: 'meta/v1.Status', schema: statusSchema },
  ]
}

/**
 * Returns a schema in which objects inside a message have no `apiVersion` and `kind`: only JSON has
 * them.
 */
function asMessage(schema: ObjectSchema): ObjectSchema {
  const properties = Object.entries(schema.properties).map(
    ([name, type]) => [name, withoutTypes(type)] as const,
  )
  const isSame = properties.every(([name, type]) => type === schema.properties[name])
  return isSame ? schema : { ...schema, properties: Object.fromEntries(properties) }
}

function withoutTypes(type: Schema): Schema {
  if (type.type === 'list') {
    const items = withoutTypes(type.items)
    return items === type.items ? type : { ...type, items }
  }
  if (type.type !== 'object' || type.protobuf === undefined) return type
  const members = Object.entries(type.properties)
  const typed = members.filter(([name]) => !['apiVersion', 'kind'].includes(name) || isNumbered(type, name))
  if (typed.length < members.length) return { ...type, properties: Object.fromEntries(typed) }
  return asMessage(type)
}

function isNumbered({ protobuf = {} }: ObjectSchema, name: string): boolean {
  return Object.hasOwn(protobuf, name)
}
