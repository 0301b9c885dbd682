import type { Json, JsonObject } from '../../src/api/json.ts'
import type { Names } from '../../src/api/names.ts'

export type DefinitionWords = {
  /** Of its objects: `Widget` has plural `widgets`. */
  readonly kind?: string
  readonly group?: string
  readonly scope?: 'Namespaced' | 'Cluster'
  readonly names?: JsonObject
  /** Of `spec` in every version. */
  readonly properties?: JsonObject
  /** More of the only version, `v1`. */
  readonly version?: JsonObject
  /** Instead of it. */
  readonly versions?: readonly Json[]
}

/** A definition as somebody writes it: of widgets in `example.com` whose `spec` has a size, unless it is said otherwise. */
export function customDefinition(names: Names, words: DefinitionWords = {}): JsonObject {
  const { kind = 'Widget', group = 'example.com', scope = 'Namespaced' } = words
  const plural = `${kind.toLowerCase()}s`
  return {
    apiVersion: `${names.group('apiextensions')}/v1`,
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      ...{ group, scope, names: { plural, kind, ...words.names } },
      versions: words.versions ?? [customVersion('v1', words)],
    },
  }
}

/** A version that is served, and the one that objects are stored in. */
export function customVersion(name: string, { properties, version }: DefinitionWords = {}): JsonObject {
  return {
    ...{ name, served: true, storage: true },
    schema: { openAPIV3Schema: customSchema(properties ?? { size: { type: 'integer' } }) },
    ...version,
  }
}

/** @param properties of `spec` */
export function customSchema(properties: JsonObject): JsonObject {
  const status = { type: 'object', properties: { phase: { type: 'string' } } }
  return { type: 'object', properties: { spec: { type: 'object', properties }, status } }
}
