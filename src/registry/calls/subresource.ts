import { methodNotSupported, pathNotFound } from '../../api/errors/standard-errors.ts'
import { resourceOf } from '../kinds/definition.ts'
import type {
  ConnectSubresource,
  OperationSubresource,
  PartSubresource,
  PartVerb,
  ResourceDefinition,
  SubresourceDefinition,
  ViewSubresource,
} from '../kinds/definition.ts'
import type { Target } from './request.ts'

/**
 * Returns the part of an object that a call reads or writes; null: the whole object.
 *
 * @throws ApiError `NotFound` for an unknown subresource, `MethodNotAllowed` when it does not have
 * the verb
 */
export function partOf(
  definition: ResourceDefinition,
  target: Target,
  verb: PartVerb,
): PartSubresource | null {
  if (target.subresource === null) return null
  const found = subresourceOf(definition, target)
  if (found.body !== undefined || 'connects' in found || !found.verbs.includes(verb)) {
    throw methodNotSupported(resourceOf(definition), verb)
  }
  return found
}

/**
 * Returns the view through which a call reads and writes the object; null: the object itself.
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
 * Returns the operation that a create at that path runs; null: it creates an object.
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

/**
 * Returns the subresource of that name if it connects to another server; null: it does not exist,
 * or does not connect.
 */
export function connectionOf(
  { subresources }: Pick<ResourceDefinition, 'subresources'>,
  name: string | null,
): ConnectSubresource | null {
  const found = subresources.find((one) => one.name === name)
  return found !== undefined && 'connects' in found ? found : null
}

function subresourceOf({ subresources }: ResourceDefinition, { subresource }: Target): SubresourceDefinition {
  const found = subresources.find(({ name }) => name === subresource)
  if (found === undefined) throw pathNotFound()
  return found
}
