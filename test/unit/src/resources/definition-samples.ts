import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/names.ts'
import type { ApiDomain } from '../../../../src/api/names.ts'
import { customResourceDefinitionDefinition } from '../../../../src/resources/custom-resource-definition.ts'
import { Fixture } from '../registry/fixture.ts'

export const definitionKind = 'CustomResourceDefinition'

type Sample = JsonObject & {
  readonly metadata: { readonly name: string }
  readonly spec: JsonObject & { readonly versions: readonly JsonObject[] }
}

type Options = { readonly group?: string; readonly schema?: JsonObject; readonly version?: JsonObject }

/** A definition of gadgets that says no more than it has to. @param schema of their one version, v1 */
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

/** The verbs with the kind of definitions; nobody accepts any names. */
export function openWithDefinitions(domain: ApiDomain): Promise<Fixture> {
  return Fixture.open({ domain, extra: [customResourceDefinitionDefinition(namesOf(domain))] })
}

export function without(object: object, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))
}
