import type { Findings } from '../errors/findings.ts'
import type { JsonObject } from '../json.ts'
import type { Names } from '../metadata/names.ts'
import type { Conformed } from '../schema/conform.ts'
import type { Path } from '../schema/path.ts'
import type { ObjectSchema } from '../schema/schema.ts'
import { checkSchema } from './check-schema.ts'
import type { CheckOptions } from './check-schema.ts'
import { conformCustom } from './conform-custom.ts'
import { defaultCustom } from './default-custom.ts'
import { publishWhole } from './publish.ts'
import { markerNames, readStructural } from './structural.ts'
import type { Structural } from './structural.ts'
import { compileRules } from './rules/rule-tree.ts'
import { validateObject } from './validate-object.ts'
import type { ReplacedObject } from './validate-object.ts'
import { objectSchemaOf } from './value-schema.ts'

/**
 * The operations that the schema of one version of a custom kind defines. All are pure, and bounded
 * by `customLimits`.
 */
export type CompiledSchema = {
  /**
   * The shape alone, without kind, apiVersion and metadata, for code that is generic over schemas.
   */
  readonly schema: ObjectSchema
  /** Used instead of `conform`: prunes. @throws ApiError BadRequest: its metadata is invalid */
  readonly conform: (object: JsonObject) => Conformed
  /** Used instead of `applyDefaults`. @throws ApiError RequestEntityTooLarge */
  readonly applyDefaults: (object: JsonObject) => JsonObject
  /** Used instead of `validateSchema`. @param replaced null: the object is new */
  readonly validate: (object: JsonObject, replaced: ReplacedObject | null, found: Findings) => void
  /**
   * The schema for OpenAPI 3.0: as the author wrote it, with apiVersion, kind and metadata, where
   * metadata is just an object. `publishV2` converts it to OpenAPI 2.0.
   */
  readonly publish: JsonObject
}

/**
 * Reports the errors in the schema of a version.
 *
 * @param at path of the schema: `spec.versions[0].schema.openAPIV3Schema`
 * @param found stays empty if the schema may be passed to `compileStructural`
 */
export function checkStructural(
  schemaJson: JsonObject,
  at: Path,
  names: Names,
  options: CheckOptions,
  found: Findings,
): void {
  checkSchema(schemaJson, at, markerNames(names.schemaMarkerPrefix), options, found)
}

/**
 * Compiles a schema. Each part is compiled at its first use, because many kinds may never be used.
 *
 * @param schemaJson has passed `checkStructural`
 */
export function compileStructural(schemaJson: JsonObject, names: Names): CompiledSchema {
  const markers = markerNames(names.schemaMarkerPrefix)
  const root = once((): Structural => readStructural(schemaJson, markers))
  const schema = once(() => objectSchemaOf(root()))
  const rules = once(() => compileRules(root()))
  const published = once(() => publishWhole(schemaJson))
  return {
    get schema() {
      return schema()
    },
    get publish() {
      return published()
    },
    conform: (object) => conformCustom(root(), object),
    applyDefaults: (object) => defaultCustom(root(), object),
    validate: (object, replaced, found) => validateObject({ root: root(), rules }, object, replaced, found),
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
