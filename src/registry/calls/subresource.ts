import { methodNotSupported, pathNotFound } from '../../api/errors/standard-errors.ts'
import { resourceOf } from '../kinds/definition.ts'
import type {
  OperationSubresource,
  PartSubresource,
  PartVerb,
  ResourceDefinition,
  SubresourceDefinition,
  ViewSubresource,
} from '../kinds/definition.ts'
import type { Target } from './request.ts'

/**
 * The part of an object that a call reads or writes; null: all of it.
 *
 * @throws ApiError `NotFound` when the kind has no such subresource, `MethodNotAllowed` when that
 * has no such verb
 */
export function partOf(
  definition: ResourceDefinition,
  target: Target,
  verb: PartVerb,
): PartSubresource | null {
  if (target.subresource === null) return null
  const found = subresourceOf(definition, target)
  if (found.body !== undefined || !found.verbs.includes(verb)) {
    throw methodNotSupported(resourceOf(definition), verb)
  }
  return found
}

/**
 * As what else a call shows and changes the object; null: as it is.
 *
 * @throws ApiError as `partOf`
 */
export function viewOf(
  definition: ResourceDefinition,
  target: Target,
  verb: PartVerb,
): ViewSubresource | null {
  if (target.subresource === null) return null
  const found = subresourceOf(definition, target)
  if (found.view === undefined) return null
  if (!found.verbs.includes(verb)) throw methodNotSupported(resourceOf(definition), verb)
  return found
}

/**
 * What a create at that path has done to an object; null: an object is to be created.
 *
 * @throws ApiError as `partOf`
 */
export function operationOf(definition: ResourceDefinition, target: Target): OperationSubresource | null {
  if (target.subresource === null) return null
  const found = subresourceOf(definition, target)
  if (found.body === undefined || found.view !== undefined)
    throw methodNotSupported(resourceOf(definition), 'create')
  return found
}

function subresourceOf({ subresources }: ResourceDefinition, { subresource }: Target): SubresourceDefinition {
  const found = subresources.find(({ name }) => name === subresource)
  if (found === undefined) throw pathNotFound()
  return found
}
