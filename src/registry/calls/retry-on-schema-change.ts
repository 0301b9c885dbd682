import { ApiError } from '../../api/errors/api-error.ts'
import { CONVERSION_FAILED, pathNotFound, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import type { VerbResponse, VerbRequest } from './verb.ts'
import type { Catalog } from '../kinds/catalog.ts'
import { basisOf, DefinitionChangedError } from '../kinds/definition-basis.ts'
import type { DefinitionStates } from '../kinds/definition-basis.ts'
import type { ResourceDefinition, Verb } from '../kinds/definition.ts'
import { fromStore } from '../shared/store-error-mapping.ts'

export type SchemaChangeOptions = {
  readonly store: Pick<ObjectStore, 'barrier'>
  readonly catalog: Catalog
  readonly states: DefinitionStates
  /**
   * Resolves once the catalog has all definitions that memory has. Unset: the catalog is always
   * current.
   */
  readonly definitionsApplied?: () => Promise<void>
}

/**
 * Maximum number of definitions that one request is evaluated with, one after another. When spent:
 * 503.
 */
const triesMax = 4

/**
 * Serves a request for a custom kind with its current definition. If an older definition caused a
 * refusal, or was used to read an object, the request is evaluated again with the newer one. Writes
 * check the definition themselves: their command carries the version that they were evaluated with.
 *
 * @param isConfirmed whether a refusal was evaluated after a barrier, with the current definition
 * @param run serves the request with the given definition
 * @throws ApiError
 */
export async function retryOnSchemaChange(
  options: SchemaChangeOptions,
  verb: Verb,
  request: VerbRequest,
  isConfirmed: (refusal: ApiError) => boolean,
  run: (definition: ResourceDefinition) => Promise<VerbResponse>,
): Promise<VerbResponse> {
  let { definition } = request
  for (let tries = 1; tries <= triesMax; tries++) {
    let refusal: ApiError | null = null
    try {
      check(options, definition)
      const answer = await run(definition)
      if (verb === 'get' || verb === 'list') check(options, definition)
      return answer
    } catch (cause) {
      if (!(cause instanceof DefinitionChangedError)) {
        if (!mayBeOfDefinition(cause, request) || isConfirmed(cause)) throw cause
        await fromStore(options.store.barrier(request.context.deadlineMs))
        refusal = cause
      }
    }
    await fromStore(options.definitionsApplied?.() ?? Promise.resolve())
    const current = lookedUp(options, definition)
    if (refusal !== null && current === definition) throw refusal
    definition = current
  }
  throw serviceUnavailable(`the definition of ${definition.plural} is being changed`, soon)
}

const soon = { retryAfterSeconds: 1 }

/** @throws DefinitionChangedError */
function check({ states }: SchemaChangeOptions, definition: ResourceDefinition): void {
  const basis = basisOf(definition)
  if (basis !== undefined) states.current(basis)
}

/**
 * Whether a newer definition might allow the request: refusals with these codes can be due to the
 * definition.
 */
function mayBeOfDefinition(cause: unknown, { target }: VerbRequest): cause is ApiError {
  if (!(cause instanceof ApiError)) return false
  switch (cause.code) {
    case 'BadRequest':
    case 'Invalid':
    case 'MethodNotAllowed':
    case 'NotImplemented':
      return true
    case 'NotFound':
      return target.subresource !== null
    case 'InternalError':
      // The newer definition may name another conversion webhook.
      return (cause.details.causes ?? []).some(({ reason }) => reason === CONVERSION_FAILED)
    default:
      return false
  }
}

/** @throws ApiError `NotFound` */
function lookedUp({ catalog }: SchemaChangeOptions, before: ResourceDefinition): ResourceDefinition {
  const { group, version, plural, scope } = before
  const found = catalog.find(group, version, plural)
  // A kind with another scope has other paths.
  if (found === null || found.scope !== scope) throw pathNotFound()
  return found
}
