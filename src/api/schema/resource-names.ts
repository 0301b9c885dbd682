import { checkQualifiedName } from '../metadata/name-rules.ts'

/** The prefixes of the resources of the API itself, in each domain. */
const NATIVE_PREFIXES = ['kubernetes.io/', 'orch.io/'] as const

/**
 * Returns whether a resource is one of the API itself: it has no prefix, or a domain that ends with
 * that of the API.
 *
 * @source core `pkg/apis/core/v1/helper`, IsNativeResource
 */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || NATIVE_PREFIXES.some((prefix) => name.includes(prefix))
}

/**
 * Returns whether a resource is an extended one, which nodes advertise under a domain of its
 * vendor, such as `example.com/gpu`.
 *
 * @source core `pkg/apis/core/v1/helper`, IsExtendedResourceName
 */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false
  return checkQualifiedName(`requests.${name}`).length === 0
}
