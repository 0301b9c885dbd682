import type { ResourceDefinition } from '../../registry/definition.ts'
import type { DiscoveredGroup, DiscoveredVersion } from './groups.ts'
import { storageVersionHash } from './storage-version-hash.ts'

/**
 * The documents of `/api`, `/apis` and below, each about one group or version. By path, without a slash at the end.
 *
 * @source spec 4.1, 9.2; meta/v1 APIVersions, APIGroupList, APIGroup, APIResourceList
 */
export function plainDocuments(groups: readonly DiscoveredGroup[]): ReadonlyMap<string, object> {
  const documents = new Map<string, object>()
  const core: string[] = []
  const named: object[] = []
  for (const { name, versions } of groups) {
    for (const version of versions) {
      const prefix = name === '' ? `/api/${version.version}` : `/apis/${name}/${version.version}`
      documents.set(prefix, resourceList(name, version))
    }
    if (name === '') {
      core.push(...versions.map(({ version }) => version))
      continue
    }
    const all = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }))
    const entry = { name, versions: all, preferredVersion: all[0] }
    named.push(entry)
    documents.set(`/apis/${name}`, { kind: 'APIGroup', apiVersion: 'v1', ...entry })
  }
  // Upstream tells each network the address to use; one cluster, one network here: whatever was dialled.
  const anyAddress = [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }]
  documents.set('/api', { kind: 'APIVersions', versions: core, serverAddressByClientCIDRs: anyAddress })
  documents.set('/apis', { kind: 'APIGroupList', apiVersion: 'v1', groups: named })
  return documents
}

function resourceList(group: string, { version, kinds }: DiscoveredVersion): object {
  const resources = kinds.flatMap((kind) => [resourceEntry(kind), ...subresourceEntries(kind)])
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: resources.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

/** Release 1.24 leaves the singular name of its own kinds empty; clients lower the kind's name themselves. */
const SINGULAR = { singularName: '' } as const

function resourceEntry(definition: ResourceDefinition): { readonly name: string } {
  const { shortNames, categories } = definition
  const hash = storageVersionHash(definition)
  return {
    name: definition.plural,
    ...{ ...SINGULAR, namespaced: definition.scope === 'Namespaced' },
    ...{ kind: definition.kind, verbs: definition.verbs.toSorted() },
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(hash === null ? {} : { storageVersionHash: hash }),
  }
}

function subresourceEntries(definition: ResourceDefinition): readonly { readonly name: string }[] {
  return definition.subresources.map(({ name, verbs, body }) => ({
    name: `${definition.plural}/${name}`,
    ...{ ...SINGULAR, namespaced: definition.scope === 'Namespaced' },
    ...(body === undefined ? {} : { group: body.group, version: body.version }),
    ...{ kind: body?.kind ?? definition.kind, verbs: verbs.toSorted() },
  }))
}
