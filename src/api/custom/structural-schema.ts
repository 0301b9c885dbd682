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
import { validateCustom } from './validate-custom.ts'
import { objectSchemaOf } from './value-schema.ts'

/**
 * What the schema of a custom kind's version makes of objects. Everything is pure, and bounded by
 * `customLimits`.
 */
export type CompiledSchema = {
  /** The shape alone, for what is made from schemas; without kind, apiVersion and metadata. */
  readonly schema: ObjectSchema
  /** Instead of `conform`: prunes. @throws ApiError BadRequest: its metadata is none */
  readonly conform: (object: JsonObject) => Conformed
  /** Instead of `applyDefaults`. @throws ApiError RequestEntityTooLarge */
  readonly applyDefaults: (object: JsonObject) => JsonObject
  /** Instead of `validateSchema`. */
  readonly validate: (object: JsonObject, found: Findings) => void
  /**
   * For OpenAPI 3.0: as the author wrote it, with apiVersion, kind and metadata, which say no more
   * of metadata than that it is an object. `publishV2` makes of it what OpenAPI 2.0 can say.
   */
  readonly publish: JsonObject
}

/**
 * What is wrong with the schema that a definition gives for a version.
 *
 * @param at where it stands: `spec.versions[0].schema.openAPIV3Schema`
 * @param found gets nothing: `compileStructural` takes it
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
 * Nothing is read before it is needed: there may be many kinds that nobody asks for.
 *
 * @param schemaJson was checked
 */
export function compileStructural(schemaJson: JsonObject, names: Names): CompiledSchema {
  const markers = markerNames(names.schemaMarkerPrefix)
  const root = once((): Structural => readStructural(schemaJson, markers))
  const schema = once(() => objectSchemaOf(root()))
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
    validate: (object, found) => validateCustom(root(), object, found),
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
