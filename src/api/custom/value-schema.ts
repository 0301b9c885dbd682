import type { ListSchema, ObjectSchema, Schema } from '../schema/schema.ts'
import { isHeadMember } from './conform-custom.ts'
import type { Structural } from './structural.ts'

/**
 * Returns the shape of a custom schema for code that is generic over schemas. In it, a zero value
 * always differs from an absent one. Rules for values are not included: `validateCustom` checks
 * them.
 *
 * @param root the schema of the whole object
 * @returns without kind, apiVersion and metadata, which all kinds share
 */
export function objectSchemaOf(root: Structural): ObjectSchema {
  const { properties, ...rest } = structOf(root)
  const own = Object.entries(properties).filter(([name]) => !isHeadMember(name))
  return { ...rest, properties: Object.fromEntries(own) }
}

function structOf(node: Structural): ObjectSchema & Schema {
  const properties = [...node.properties].map(([name, of]) => [name, schemaOf(of)] as const)
  return {
    type: 'object',
    ...commonOf(node),
    // Not a literal, because a member may be named `__proto__`.
    properties: Object.fromEntries(properties),
    ...(node.mapType === 'atomic' ? { mapType: node.mapType } : {}),
  }
}

function schemaOf(node: Structural): Schema {
  const given = { ...commonOf(node), zeroMatters: true } as const
  if (node.intOrString) return { ...given, type: 'int-or-string' }
  if (node.preserveUnknown || node.embedded) return { ...given, type: 'any', ...declaredOf(node) }
  switch (node.type) {
    case 'array':
      return { ...given, ...listOf(node) }
    case 'object':
      return { ...given, ...objectOf(node) }
    case 'string':
    case 'boolean':
    case 'number':
      return { ...given, type: node.type }
    case 'integer':
      return { ...given, type: 'integer', format: node.rules.format === 'int32' ? 'int32' : 'int64' }
    case '':
      return { ...given, type: 'any' }
  }
}

/**
 * Returns the declared part of a schema. How other members are merged is deduced from their values,
 * as upstream does.
 */
function declaredOf(node: Structural): { readonly declared?: Schema } {
  if (node.type === 'array') return { declared: listOf(node) }
  const { properties, additional, mapType } = node
  const isDeclared = properties.size > 0 || (additional !== null && typeof additional !== 'boolean')
  return isDeclared || mapType === 'atomic' ? { declared: objectOf(node) } : {}
}

function objectOf(node: Structural): Schema {
  const { additional } = node
  if (additional === null || additional === false || node.properties.size > 0) return structOf(node)
  const values: Schema = additional === true ? { type: 'any' } : schemaOf(additional)
  return { type: 'map', values, ...(node.mapType === 'atomic' ? { mapType: node.mapType } : {}) }
}

function listOf(node: Structural): ListSchema {
  return {
    type: 'list',
    items: node.items === null ? { type: 'any' } : schemaOf(node.items),
    ...(node.listType === null ? {} : { listType: node.listType }),
    ...(node.listMapKeys.length === 0 ? {} : { listMapKeys: node.listMapKeys }),
  }
}

function commonOf({ description, default: value }: Structural): Pick<Schema, 'description' | 'default'> {
  return {
    ...(description === '' ? {} : { description }),
    ...(value === null ? {} : { default: value }),
  }
}
