import { pathNotFound } from '../api/api-errors.ts'
import type { ResourceDefinition, SubresourceDefinition } from './definition.ts'
import type { Target } from './request.ts'

/**
 * The subresource a call is about; null: the object itself.
 *
 * @throws ApiError `NotFound` when the kind has no such subresource
 */
export function subresourceOf(definition: ResourceDefinition, target: Target): SubresourceDefinition | null {
  if (target.subresource === null) return null
  const found = definition.subresources.find(({ name }) => name === target.subresource)
  if (found === undefined) throw pathNotFound()
  return found
}
