import { isJsonList, isJsonObject, memberOf } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { elementsByKey } from './elements-by-key.ts'
import { equalByKeys, schemaOf } from './equal-by-keys.ts'
import type { Spend } from './sorted-text.ts'
import type { Structural } from './structural.ts'

/**
 * Finds the values of an updated object that are as they were before. An update does not fail for
 * errors in those: a definition may have got stricter since the object was written.
 *
 * @source apiserver `pkg/cel/common/equality.go`; release 1.30 with CRDValidationRatcheting
 */
export class UnchangedValues {
  readonly #root: Found
  /** The root as rules see it. */
  readonly #body: Found
  readonly #found = new Map<Path, Found>()
  readonly #spend: Spend

  constructor(schema: Structural, value: JsonObject, old: JsonObject, spend: Spend) {
    this.#spend = spend
    this.#root = new Found(schema, value, old, null)
    this.#body = new Found(schema, withoutMetadata(value), withoutMetadata(old), null)
  }

  /**
   * Returns whether the value at a path is unchanged; for the object: whether all but its metadata
   * is. For a value without a predecessor: whether the nearest value around it that has one is
   * unchanged.
   */
  has(at: Path | null): boolean {
    // Both objects were converted to the same version, so these do not show what was changed.
    if (at !== null && at.parent === null && (at.step === 'apiVersion' || at.step === 'kind')) return false
    const found = this.#find(at)
    return (found === this.#root ? this.#body : found).isSame(this.#spend)
  }

  #find(at: Path | null): Found {
    if (at === null) return this.#root
    let found = this.#found.get(at)
    if (found === undefined) {
      this.#spend(4)
      const around = this.#find(at.parent)
      found = around.isAt(at.parent) ? (around.inside(at, this.#spend) ?? around) : around
      this.#found.set(at, found)
    }
    return found
  }
}

/**
 * Schemas and rules see only `name` and `generateName` of the metadata, which no update changes.
 * Other metadata may change with every write, such as `managedFields`.
 */
function withoutMetadata(object: JsonObject): JsonObject {
  const body: JsonObjectDraft = { ...object }
  delete body['metadata']
  return body
}

/** A value and the one that it replaces. */
class Found {
  readonly #schema: Structural
  readonly #value: Json
  readonly #old: Json
  readonly #at: Path | null
  #isSame: boolean | null = null
  #byKey: ((item: Json) => Json | undefined) | null = null

  constructor(schema: Structural, value: Json, old: Json, at: Path | null) {
    this.#schema = schema
    this.#value = value
    this.#old = old
    this.#at = at
  }

  isSame(spend: Spend): boolean {
    this.#isSame ??= equalByKeys(this.#schema, this.#value, this.#old, spend)
    return this.#isSame
  }

  isAt(at: Path | null): boolean {
    return this.#at === at
  }

  /** @returns null: there is no value, or none that it replaces */
  inside(at: Path, spend: Spend): Found | null {
    return typeof at.step === 'number' ? this.#item(at, at.step, spend) : this.#member(at, at.step)
  }

  #member(at: Path, name: string): Found | null {
    if (!isJsonObject(this.#value) || !isJsonObject(this.#old)) return null
    const schema = schemaOf(this.#schema, name)
    const value = memberOf(this.#value, name)
    const old = memberOf(this.#old, name)
    if (schema === null || value === undefined || old === undefined) return null
    return new Found(schema, value, old, at)
  }

  #item(at: Path, index: number, spend: Spend): Found | null {
    const { items, listType } = this.#schema
    if (!isJsonList(this.#value) || !isJsonList(this.#old) || items === null) return null
    // Only elements of a list of type map replace others.
    const value = listType === 'map' ? this.#value[index] : undefined
    if (value === undefined) return null
    this.#byKey ??= elementsByKey(this.#schema, this.#old, spend)
    const old = this.#byKey(value)
    return old === undefined ? null : new Found(items, value, old, at)
  }
}
