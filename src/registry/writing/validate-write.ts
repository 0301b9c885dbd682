import type { ReplacedObject } from '../../api/custom/validate-object.ts'
import { formatFindings, invalid } from '../../api/errors/field-error.ts'
import { Findings, requireValid } from '../../api/errors/findings.ts'
import type { Json } from '../../api/json.ts'
import { validateMetaOnCreate, validateMetaOnUpdate } from '../../api/metadata/object-meta.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import { validateSchema } from '../../api/schema/validate.ts'
import type { AnyObject, BodyKind, PartSubresource, ResourceDefinition } from '../kinds/definition.ts'
import type { VerbRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { warnOfOwners } from './warn-of-owners.ts'

/** Validates a new object. @throws ApiError `Invalid`, as all validations of this file */

export function validateNewObject(definition: ResourceDefinition, object: AnyObject): void {
  const { validateName, allowsUnqualifiedFinalizers: plainFinalizers = false, hooks } = definition
  const rules = { namespaced: definition.scope === 'Namespaced', validateName, plainFinalizers }
  const name = object.metadata.name ?? object.metadata.generateName ?? ''
  requireValid(definition, name, (found) => {
    validateMetaOnCreate(object.metadata, rules, found)
    validateShape(definition, object, null, found)
    hooks.validate?.(object, found)
    hooks.validateNew?.(object, found)
  })
}

/**
 * @param subresource null: the whole object was written
 * @returns errors in values that the write leaves as they were, which do not fail it
 */
export function validateChangedObject(
  definition: ResourceDefinition,
  subresource: PartSubresource | null,
  object: AnyObject,
  current: AnyObject,
): readonly string[] {
  const tolerated = new Findings()
  const { hooks, allowsUnqualifiedFinalizers: plainFinalizers = false } = definition
  requireValid(definition, object.metadata.name ?? '', (found) => {
    validateMetaOnUpdate(object.metadata, current.metadata, { plainFinalizers }, found)
    validateShape(definition, object, { object: current, tolerated }, found)
    if (subresource === null) {
      hooks.validate?.(object, found)
      hooks.validateUpdate?.(object, current, found)
    } else subresource.validateUpdate?.(object, current, found)
  })
  return formatFindings(tolerated.list).map(({ field, message }) => `${field}: ${message}`)
}

function validateShape(
  { structural, schema }: ResourceDefinition,
  object: AnyObject,
  replaced: ReplacedObject | null,
  found: Findings,
): void {
  if (structural !== undefined) structural.validate(object, replaced, found)
  else validateSchema(schema, object, found)
}

/** Validates a new object against all others of its kind. */
export function validateAmong(
  definition: ResourceDefinition,
  object: AnyObject,
  others: () => readonly AnyObject[],
): void {
  const { hooks } = definition
  if (hooks.validateAmong === undefined) return
  requireValid(definition, object.metadata.name ?? '', (found) => {
    hooks.validateAmong?.(object, others(), found)
  })
}

/**
 * Validates a body that is not stored, such as that of an eviction. @param name of the object of
 * the path
 */
export function validateBody(kind: BodyKind, name: string, body: AnyObject): void {
  requireValid(kind, name, (found) => {
    validateSchema(kind.schema, body, found)
  })
}

/** Validates a review. @param namespace null: cluster-scoped kind */
export function validateReview(
  definition: ResourceDefinition,
  object: AnyObject,
  namespace: string | null,
): void {
  requireValid(definition, '', (found) => {
    checkReviewMetadata(object.metadata, namespace, found)
    validateSchema(definition.schema, object, found)
    definition.hooks.validate?.(object, found)
  })
}

/** A review is not stored, so it has no name, labels or history. */
function checkReviewMetadata(metadata: ObjectMeta, namespace: string | null, found: Findings): void {
  const given = Object.entries(metadata).filter(([name, value]) => {
    const absent = value === null || value === ''
    return !absent && !(name === 'namespace' && namespace !== null)
  })
  if (given.length === 0) return
  const words = namespace === null ? 'must be empty' : 'must be empty except for namespace'
  const value: Json = Object.fromEntries(given.map(([name]) => [name, '...']))
  found.add(invalid('metadata', value, words))
}

/**
 * Sends the warnings about a valid object to the client. At most `fieldWarningsMax` of them are
 * from the hook of the kind, which generates them lazily, so the cost is bounded.
 *
 * @param current null: the object is new
 */
export function warnOfObject(
  dependencies: VerbDependencies,
  request: VerbRequest,
  object: AnyObject,
  current: AnyObject | null,
): void {
  warnOfOwners(dependencies, request, object, current)
  const { definition, context } = request
  const { warnings } = definition.hooks
  if (warnings === undefined) return
  let left = dependencies.limits.fieldWarningsMax
  for (const warning of warnings(object, current)) {
    if (left-- <= 0) return
    context.warn(warning)
  }
}
