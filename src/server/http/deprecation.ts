import { formatGroupVersion } from '../../api/metadata/group-version.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'

/**
 * Returns the warning about a deprecated version, or null.
 *
 * @source spec 6.2, 9.6; the wording is upstream's
 */
export function deprecationWords(definition: ResourceDefinition): string | null {
  const { deprecated, kind } = definition
  if (deprecated === undefined) return null
  if ('words' in deprecated) return deprecated.words
  const { since, removed, replacement } = deprecated
  const gone = removed === '' ? '' : `, unavailable in v${removed}+`
  const instead = replacement === null ? '' : `; use ${formatGroupVersion(replacement)} ${replacement.kind}`
  return `${formatGroupVersion(definition)} ${kind} is deprecated in v${since}+${gone}${instead}`
}
