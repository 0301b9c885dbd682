import type { JsonObject } from '../../../../../src/api/json.ts'

export const definitionKind = 'CustomResourceDefinition'

type Sample = JsonObject & {
  readonly metadata: { readonly name: string }
  readonly spec: JsonObject & { readonly versions: readonly JsonObject[] }
}

type Options = { readonly group?: string; readonly schema?: JsonObject; readonly version?: JsonObject }

/**
 * A minimal definition of gadgets.
 *
 * @param schema of their one version, v1
 */
export function definitionBody({
  group = 'test.example',
  schema = { type: 'object' },
  version = {},
}: Options = {}): Sample {
  const v1 = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version }
  return {
    metadata: { name: `gadgets.${group}` },
    spec: { group, names: { plural: 'gadgets', kind: 'Gadget' }, scope: 'Namespaced', versions: [v1] },
  }
}

export function without(object: object, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))
}
