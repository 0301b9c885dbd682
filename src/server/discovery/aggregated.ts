import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { DiscoveredGroup } from './groups.ts'

/** The kind that clients request with `as=`. */
export const AGGREGATED_KIND = 'APIGroupDiscoveryList'

/**
 * Returns the groups of one root with all their versions and resources, so that a client needs two
 * requests instead of one for each group and version.
 *
 * @param groups those of `/api`, or those of `/apis`
 * @param apiVersion as the client named it
 * @source apidiscovery v2 APIGroupDiscoveryList; KEP-3352
 */
export function aggregatedDocument(groups: readonly DiscoveredGroup[], apiVersion: string): object {
  return {
    kind: AGGREGATED_KIND,
    apiVersion,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name === '' ? {} : { name }), creationTimestamp: null },
      versions: versions.map(({ version, kinds }) => ({
        version,
        ...(kinds.length === 0 ? {} : { resources: kinds.map(resourceEntry) }),
        freshness: 'Current',
      })),
    })),
  }
}

function resourceEntry(definition: ResourceDefinition): object {
  const { group, version, kind, shortNames, categories, subresources } = definition
  return {
    resource: definition.plural,
    responseKind: { group, version, kind },
    scope: definition.scope === 'Namespaced' ? 'Namespaced' : 'Cluster',
    singularResource: definition.singular,
    verbs: definition.verbs.toSorted(),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresourceEntries(definition) }),
  }
}

function subresourceEntries({ group, version, kind, subresources }: ResourceDefinition): readonly object[] {
  return subresources
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((subresource) => {
      const { name, verbs, body } = subresource
      const options = 'connects' in subresource ? subresource.options : null
      return {
        subresource: name,
        responseKind: kindOf(body ?? options ?? { group, version, kind }),
        verbs: verbs.toSorted(),
      }
    })
}

function kindOf({ group, version, kind }: Kind): Kind {
  return { group, version, kind }
}

type Kind = { readonly group: string; readonly version: string; readonly kind: string }
