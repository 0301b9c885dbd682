import { assert, assertNever } from '../../../base/assert.ts'
import { equalJson } from '../../api/json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type {
  AnySchema,
  ListSchema,
  MapSchema,
  ObjectSchema,
  Schema,
  StringSchema,
  UnionShape,
} from '../../api/schema/schema.ts'
import { markers } from './markers.ts'

/**
 * Swagger 2.0 allows members next to a `$ref`; OpenAPI 3.0 ignores them, so there the reference is
 * wrapped in an `allOf`.
 */
export type Dialect = 'v2' | 'v3'

/** Collects the named schemas that a document needs while its parts are rendered. */
export class Definitions {
  readonly #names: Names
  readonly dialect: Dialect
  readonly #byName = new Map<string, Named>()

  readonly #begun = new Set<string>()

  constructor(names: Names, dialect: Dialect) {
    this.#names = names
    this.dialect = dialect
  }

  /** Returns the definitions in order of their names. */
  all(): { readonly [name: string]: JsonObject } {
    const entries = [...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(entries.map(([name, { shape, more }]) => [name, { ...shape, ...more }]))
  }

  /**
   * Returns a reference to a named schema, which is added with all that it refers to.
   *
   * @param more members of the definition itself, such as its kind
   */
  reference(neutral: string, schema: ObjectSchema | AnySchema, more: JsonObject = {}): JsonObject {
    const name = this.#names.definition(neutral)
    const found = this.#byName.get(name)
    const known = found?.isCustom === true ? undefined : found
    if ((known === undefined && !this.#begun.has(name)) || Object.keys(more).length > 0) {
      // Schemas may be recursive.
      this.#begun.add(name)
      const shape = schema.type === 'any' ? openShape(schema) : this.#struct(schema)
      this.#begun.delete(name)
      // A kind may have been added before as a member of another.
      assert(known === undefined || equalJson(known.shape, shape), `${name} means one shape`)
      const isMarked = known !== undefined && Object.keys(known.more).length > 0
      assert(!isMarked || equalJson(known.more, more), `${name} means one kind`)
      this.#byName.set(name, { shape, more, isCustom: false })
    }
    return this.#referenceTo(name)
  }

  /**
   * Returns a reference to a schema of a custom kind, by its full name. Authors of kinds can choose
   * a name that is taken: a schema of the program has precedence.
   */
  custom(name: string, shape: JsonObject): JsonObject {
    if (!this.#byName.has(name)) this.#byName.set(name, { shape, more: {}, isCustom: true })
    return this.#referenceTo(name)
  }

  #referenceTo(name: string): JsonObject {
    const prefix = this.dialect === 'v2' ? '#/definitions/' : '#/components/schemas/'
    return { $ref: `${prefix}${name}` }
  }

  /** Renders a schema where it is used. */
  render(schema: Schema): JsonObject {
    const given = this.#described(schema)
    switch (schema.type) {
      case 'string':
        return {
          ...given,
          type: 'string',
          ...(schema.format === undefined ? {} : { format: FORMATS[schema.format] }),
          ...valuesOf(schema),
          ...(schema.lengthMax === undefined ? {} : { maxLength: schema.lengthMax }),
        }
      case 'boolean':
        return { ...given, type: 'boolean' }
      case 'integer':
        return {
          ...given,
          type: 'integer',
          format: schema.format,
          ...(schema.minimum === undefined ? {} : { minimum: schema.minimum }),
          ...(schema.maximum === undefined ? {} : { maximum: schema.maximum }),
        }
      case 'number':
        return { ...given, type: 'number', format: 'double' }
      case 'quantity':
        return { ...given, type: 'string' }
      case 'int-or-string':
        return { ...given, type: 'string', format: 'int-or-string' }
      case 'any':
        if (schema.definition === undefined) return { ...given, type: 'object' }
        return this.withMembers(given, this.reference(schema.definition, schema))
      case 'map':
        return { ...given, ...this.#map(schema) }
      case 'list':
        return { ...given, ...this.#list(schema) }
      case 'object':
        return this.#use(schema, given)
      default:
        return assertNever(schema)
    }
  }

  #use(schema: ObjectSchema, given: JsonObject): JsonObject {
    const { definition } = schema
    const strategy = markers(this.#names, 'patch-strategy', schema.patchStrategy)
    if (definition === undefined) return { ...this.#struct(schema), ...given, ...strategy }
    return this.withMembers({ ...given, ...strategy }, this.reference(definition, schema))
  }

  /** Returns a reference with additional members. */
  withMembers(members: JsonObject, reference: JsonObject): JsonObject {
    if (Object.keys(members).length === 0) return reference
    return this.dialect === 'v2' ? { ...members, ...reference } : { ...members, allOf: [reference] }
  }

  #struct(schema: ObjectSchema): JsonObject {
    if (schema.instead !== undefined) return openShape(schema)
    const properties: JsonObjectDraft = {}
    for (const [name, member] of Object.entries(schema.properties)) properties[name] = this.render(member)
    return {
      ...(schema.description === undefined ? {} : { description: schema.description }),
      type: 'object',
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(schema.required === undefined || schema.required.length === 0 ? {} : { required: schema.required }),
      ...markers(this.#names, 'map-type', schema.mapType),
      ...markers(this.#names, 'unions', schema.unions?.map(unionJson)),
    }
  }

  #map(schema: MapSchema): JsonObject {
    return {
      type: 'object',
      additionalProperties: this.render(schema.values),
      ...markers(this.#names, 'map-type', schema.mapType),
    }
  }

  #list(schema: ListSchema): JsonObject {
    return {
      type: 'array',
      items: this.render(schema.items),
      ...(schema.itemsMax === undefined ? {} : { maxItems: schema.itemsMax }),
      ...markers(this.#names, 'list-type', schema.listType),
      ...markers(this.#names, 'list-map-keys', schema.listMapKeys),
      ...markers(this.#names, 'patch-merge-key', schema.patchMergeKey),
      ...markers(this.#names, 'patch-strategy', schema.patchStrategy),
    }
  }

  /**
   * The description of a named struct belongs to its definition; the description of its use is next
   * to the reference.
   */
  #described(schema: Schema): JsonObject {
    const named = (schema.type === 'object' || schema.type === 'any') && schema.definition !== undefined
    const given: [string, Json][] = []
    const words = named ? schema.memberDescription : schema.description
    if (words !== undefined) given.push(['description', words])
    if (schema.default !== undefined) given.push(['default', schema.default])
    return Object.fromEntries(given)
  }
}

type Named = { readonly shape: JsonObject; readonly more: JsonObject; readonly isCustom: boolean }

/** Renders a schema that allows several types. */
function openShape({ description }: ObjectSchema | AnySchema): JsonObject {
  return description === undefined ? {} : { description }
}

function valuesOf({ enum: closed, known }: StringSchema): JsonObject {
  const values = closed ?? known
  return values === undefined ? {} : { enum: values }
}

function unionJson({ discriminator, members }: UnionShape): JsonObject {
  return { discriminator, 'fields-to-discriminateBy': members }
}

const FORMATS = { bytes: 'byte', 'date-time': 'date-time', 'micro-time': 'date-time' } as const
