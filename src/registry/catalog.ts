import { assert } from '../../raft/base/assert.ts'
import type { ResourceDefinition } from './definition.ts'

/** All kinds this server knows, by group, version and plural. Discovery and OpenAPI read it. */
export class Catalog {
  readonly #byPath = new Map<string, ResourceDefinition>()

  constructor(definitions: readonly ResourceDefinition[]) {
    for (const definition of definitions) {
      const path = `${definition.group}/${definition.version}/${definition.plural}`
      assert(!this.#byPath.has(path), `${path} is declared once`)
      this.#byPath.set(path, definition)
    }
  }

  find(group: string, version: string, plural: string): ResourceDefinition | null {
    return this.#byPath.get(`${group}/${version}/${plural}`) ?? null
  }

  /** In order of declaration. */
  all(): readonly ResourceDefinition[] {
    return [...this.#byPath.values()]
  }
}
