import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Json, JsonObject, JsonObjectDraft } from '../../../../../src/api/json.ts'

/**
 * Decodes `openapi.v2.Document` to JSON. The field numbers are not imported from the encoder but
 * taken separately from the same proto file, so a wrong number on either side is found.
 */
export function readDocument(bytes: Uint8Array): JsonObject {
  return read(bytes, {
    1: { name: 'swagger', kind: 'text' },
    2: { name: 'info', kind: 'message', fields: { 1: text('title'), 2: text('version') } },
    8: { name: 'paths', kind: 'message', fields: { 2: map(pathItem) } },
    9: { name: 'definitions', kind: 'message', fields: { 1: map(() => schema) } },
  })
}

type Field =
  | { readonly name: string; readonly kind: 'text' | 'texts' | 'flag' | 'double' | 'count' | 'any' | 'anys' }
  | { readonly name: string; readonly kind: 'message'; readonly fields: Fields | (() => Fields) }
  /** As `message`; if the inner message has the flag `EITHER`, the member is that flag. */
  | { readonly name: string; readonly kind: 'either'; readonly fields: () => Fields }
  /** The members of the inner message become members of this one. */
  | { readonly kind: 'wrapper'; readonly fields: Fields | (() => Fields) }
  /** As `message`, but repeated: the member is a list. */
  | { readonly name: string; readonly kind: 'list'; readonly fields: Fields | (() => Fields) }
  /** Repeated pairs of a name and a message: each becomes a member of this message. */
  | { readonly kind: 'map'; readonly fields: () => Fields }
  | { readonly kind: 'extensions' }

type Fields = { readonly [number: number]: Field }

function text(name: string): Field {
  return { name, kind: 'text' }
}

function map(fields: () => Fields): Field {
  return { kind: 'map', fields }
}

const EITHER = 'either'

const typeItem: Fields = { 1: text('type') }

const schema: Fields = {
  1: text('$ref'),
  2: text('format'),
  3: text('title'),
  4: text('description'),
  5: { name: 'default', kind: 'any' },
  6: { name: 'multipleOf', kind: 'double' },
  7: { name: 'maximum', kind: 'double' },
  8: { name: 'exclusiveMaximum', kind: 'flag' },
  9: { name: 'minimum', kind: 'double' },
  10: { name: 'exclusiveMinimum', kind: 'flag' },
  11: { name: 'maxLength', kind: 'count' },
  12: { name: 'minLength', kind: 'count' },
  13: text('pattern'),
  14: { name: 'maxItems', kind: 'count' },
  15: { name: 'minItems', kind: 'count' },
  16: { name: 'uniqueItems', kind: 'flag' },
  17: { name: 'maxProperties', kind: 'count' },
  18: { name: 'minProperties', kind: 'count' },
  19: { name: 'required', kind: 'texts' },
  20: { name: 'enum', kind: 'anys' },
  21: {
    name: 'additionalProperties',
    kind: 'either',
    fields: () => ({ 1: { kind: 'wrapper', fields: () => schema }, 2: { name: EITHER, kind: 'flag' } }),
  },
  22: { kind: 'wrapper', fields: typeItem },
  23: { name: 'items', kind: 'message', fields: () => ({ 1: { kind: 'wrapper', fields: () => schema } }) },
  25: { name: 'properties', kind: 'message', fields: { 1: map(() => schema) } },
  29: { name: 'externalDocs', kind: 'message', fields: { 1: text('description'), 2: text('url') } },
  30: { name: 'example', kind: 'any' },
  31: { kind: 'extensions' },
}

const bodyParameter: Fields = {
  2: text('name'),
  3: text('in'),
  4: { name: 'required', kind: 'flag' },
  5: { name: 'schema', kind: 'message', fields: schema },
}

const queryParameter: Fields = {
  2: text('in'),
  3: text('description'),
  4: text('name'),
  6: text('type'),
  20: { name: 'uniqueItems', kind: 'flag' },
}

const pathParameter: Fields = {
  1: { name: 'required', kind: 'flag' },
  2: text('in'),
  3: text('description'),
  4: text('name'),
  5: text('type'),
  19: { name: 'uniqueItems', kind: 'flag' },
}

const nonBody: Fields = {
  3: { kind: 'wrapper', fields: queryParameter },
  4: { kind: 'wrapper', fields: pathParameter },
}

const parameter: Fields = {
  1: { kind: 'wrapper', fields: bodyParameter },
  2: { kind: 'wrapper', fields: nonBody },
}

const parameters: Field = {
  name: 'parameters',
  kind: 'list',
  fields: { 1: { kind: 'wrapper', fields: parameter } },
}

const response: Fields = {
  1: {
    kind: 'wrapper',
    fields: {
      1: text('description'),
      2: { name: 'schema', kind: 'message', fields: { 1: { kind: 'wrapper', fields: schema } } },
    },
  },
}

const operation: Fields = {
  1: { name: 'tags', kind: 'texts' },
  3: text('description'),
  5: text('operationId'),
  6: { name: 'produces', kind: 'texts' },
  7: { name: 'consumes', kind: 'texts' },
  8: parameters,
  9: { name: 'responses', kind: 'message', fields: { 1: map(() => response) } },
  10: { name: 'schemes', kind: 'texts' },
  13: { kind: 'extensions' },
}

function pathItem(): Fields {
  const method = (name: string): Field => ({ name, kind: 'message', fields: operation })
  return {
    2: method('get'),
    3: method('put'),
    4: method('post'),
    5: method('delete'),
    6: method('options'),
    7: method('head'),
    8: method('patch'),
    9: parameters,
  }
}

function read(bytes: Uint8Array, fields: Fields): JsonObject {
  const reader = new BinaryReader(bytes)
  const result: JsonObjectDraft = {}
  while (reader.pos < reader.len) {
    const [number] = reader.tag()
    const field = fields[number]
    if (field === undefined) throw new Error(`field ${number} is not known here`)
    readField(reader, field, result)
  }
  return result
}

function readField(reader: BinaryReader, field: Field, into: JsonObjectDraft): void {
  switch (field.kind) {
    case 'flag':
      into[field.name] = reader.bool()
      return
    case 'count':
      into[field.name] = Number(reader.int64())
      return
    case 'double':
      into[field.name] = reader.double()
      return
    case 'text':
      into[field.name] = reader.string()
      return
    case 'texts':
      append(into, field.name, reader.string())
      return
    case 'any':
      into[field.name] = anyOf(reader.bytes())
      return
    case 'anys':
      append(into, field.name, anyOf(reader.bytes()))
      return
    case 'extensions': {
      const { name, value } = entryOf(reader.bytes())
      into[name] = anyOf(value)
      return
    }
    case 'map': {
      const { name, value } = entryOf(reader.bytes())
      into[name] = read(value, field.fields())
      return
    }
    case 'wrapper':
      Object.assign(into, read(reader.bytes(), fieldsOf(field.fields)))
      return
    case 'list':
      append(into, field.name, read(reader.bytes(), fieldsOf(field.fields)))
      return
    case 'either': {
      const inner = read(reader.bytes(), field.fields())
      into[field.name] = inner[EITHER] ?? inner
      return
    }
    case 'message':
      into[field.name] = read(reader.bytes(), fieldsOf(field.fields))
      return
  }
}

function fieldsOf(fields: Fields | (() => Fields)): Fields {
  return typeof fields === 'function' ? fields() : fields
}

function append(into: JsonObjectDraft, name: string, value: Json): void {
  const list = into[name]
  into[name] = Array.isArray(list) ? [...(list as Json[]), value] : [value]
}

function anyOf(bytes: Uint8Array): Json {
  const { yaml } = read(bytes, { 2: text('yaml') })
  if (typeof yaml !== 'string') throw new Error('an Any has no YAML')
  return JSON.parse(yaml) as Json
}

function entryOf(bytes: Uint8Array): { name: string; value: Uint8Array } {
  const reader = new BinaryReader(bytes)
  let name = ''
  let value: Uint8Array = new Uint8Array(0)
  while (reader.pos < reader.len) {
    const [number] = reader.tag()
    if (number === 1) name = reader.string()
    else value = reader.bytes()
  }
  return { name, value }
}
