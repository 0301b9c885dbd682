import { ApiError } from '../api/api-error.ts'
import { pathNotFound, serviceUnavailable } from '../api/api-errors.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { Answer, VerbRequest } from './answer.ts'
import type { Catalog } from './catalog.ts'
import { basisOf, DefinitionChanged } from './definition-basis.ts'
import type { DefinitionStates } from './definition-basis.ts'
import type { ResourceDefinition, Verb } from './definition.ts'
import { fromStore } from './store-errors.ts'

export type ByDefinitionParts = {
  readonly store: Pick<ObjectStore, 'barrier'>
  readonly catalog: Catalog
  readonly states: DefinitionStates
  /** Resolves once the catalog has all definitions that memory has. Unset: it always has. */
  readonly definitionsTakenIn?: () => Promise<void>
}

/** Definitions that one request goes by, one after the other. More: 503. */
const triesMax = 4

/**
 * Answers a request of a custom kind by the definition as it is, whichever this member knew when the request came: what is
 * refused because of an older one, or read as an older one says, is asked again by the newer one. Writes look themselves, and
 * the command says by which definition they were made.
 *
 * @param run answers by the definition that the request has
 * @throws ApiError
 */
export async function byDefinition(
  parts: ByDefinitionParts,
  verb: Verb,
  request: VerbRequest,
  run: (request: VerbRequest) => Promise<Answer>,
): Promise<Answer> {
  let asked = request
  for (let tries = 1; tries <= triesMax; tries++) {
    let refusal: ApiError | null = null
    try {
      check(parts, asked.definition)
      const answer = await run(asked)
      if (verb === 'get' || verb === 'list') check(parts, asked.definition)
      return answer
    } catch (cause) {
      if (!(cause instanceof DefinitionChanged)) {
        if (!mayBeOfDefinition(cause, asked)) throw cause
        await fromStore(parts.store.barrier(asked.context.deadlineMs))
        refusal = cause
      }
    }
    await fromStore(parts.definitionsTakenIn?.() ?? Promise.resolve())
    const definition = lookedUp(parts, asked.definition)
    if (refusal !== null && definition === asked.definition) throw refusal
    asked = { ...asked, definition }
  }
  throw serviceUnavailable(`the definition of ${request.definition.plural} is being changed`, soon)
}

const soon = { retryAfterSeconds: 1 }

/** @throws DefinitionChanged */
function check({ states }: ByDefinitionParts, definition: ResourceDefinition): void {
  const basis = basisOf(definition)
  if (basis !== undefined) states.now(basis)
}

/** Whether a newer definition might have allowed it: what nobody but the definition decides. */
function mayBeOfDefinition(cause: unknown, { target }: VerbRequest): cause is ApiError {
  if (!(cause instanceof ApiError)) return false
  switch (cause.code) {
    case 'BadRequest':
    case 'Invalid':
    case 'MethodNotAllowed':
      return true
    case 'NotFound':
      return target.subresource !== null
    default:
      return false
  }
}

/** @throws ApiError `NotFound` */
function lookedUp({ catalog }: ByDefinitionParts, before: ResourceDefinition): ResourceDefinition {
  const { group, version, plural, scope } = before
  const found = catalog.find(group, version, plural)
  // With another scope it has other paths.
  if (found === null || found.scope !== scope) throw pathNotFound()
  return found
}
