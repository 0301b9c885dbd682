import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { DiscoveredGroup, DiscoveredVersion } from './groups.ts'
import { storageVersionHash } from './storage-version-hash.ts'

/**
 * Returns the discovery document at `/api`, `/apis` or a path below them.
 *
 * @param path without a trailing slash
 * @returns null without such a group or version
 * @source spec 4.1, 9.2; meta/v1 APIVersions, APIGroupList, APIGroup, APIResourceList
 */
export function plainDocument(groups: readonly DiscoveredGroup[], path: string): object | null {
  if (path === '/api') return coreVersions(groups)
  if (path === '/apis')
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: named(groups).map(groupEntry) }
  const [, root, ...parts] = path.split('/')
  const [name, versionName] = root === 'api' ? ['', ...parts] : parts
  const group = (root === 'api' ? groups : named(groups)).find((one) => one.name === name)
  if (group === undefined) return null
  if (versionName === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }
  const version = group.versions.find((one) => one.version === versionName)
  return version === undefined ? null : resourceList(group.name, version)
}

/** The paths of the documents. */
export function plainPaths(groups: readonly DiscoveredGroup[]): readonly string[] {
  const below = groups.flatMap(({ name, versions }) => {
    const prefix = name === '' ? '/api' : `/apis/${name}`
    return [prefix, ...versions.map(({ version }) => `${prefix}/${version}`)]
  })
  return [...new Set(['/api', '/apis', ...below])]
}

function named(groups: readonly DiscoveredGroup[]): readonly DiscoveredGroup[] {
  return groups.filter(({ name }) => name !== '')
}

function groupEntry({ name, versions }: DiscoveredGroup): object {
  const all = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: all, preferredVersion: all[0] }
}

function coreVersions(groups: readonly DiscoveredGroup[]): object {
  // Upstream returns an address for each network of clients. Here it is empty: clients keep using
  // the address that they connected to.
  const anyAddress = [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }]
  const core = groups.find(({ name }) => name === '')?.versions ?? []
  const versions = core.map(({ version }) => version)
  return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: anyAddress }
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

/**
 * Release 1.24 leaves the singular name of its own kinds empty; clients lowercase the kind instead.
 */
function singularOf({ custom, singular }: ResourceDefinition): string {
  return custom === undefined ? '' : singular
}

function resourceEntry(definition: ResourceDefinition): { readonly name: string } {
  const { shortNames, categories } = definition
  const hash = storageVersionHash(definition)
  return {
    name: definition.plural,
    ...{ singularName: singularOf(definition), namespaced: definition.scope === 'Namespaced' },
    ...{ kind: definition.kind, verbs: definition.verbs.toSorted() },
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(hash === null ? {} : { storageVersionHash: hash }),
  }
}

function subresourceEntries(definition: ResourceDefinition): readonly { readonly name: string }[] {
  return definition.subresources.map((subresource) => {
    const { name, verbs, body } = subresource
    // The group and version of options are those of the kind, so they are omitted.
    const options = 'connects' in subresource ? subresource.options : null
    return {
      name: `${definition.plural}/${name}`,
      ...{ singularName: '', namespaced: definition.scope === 'Namespaced' },
      ...(body === undefined ? {} : { group: body.group, version: body.version }),
      ...{ kind: (body ?? options ?? definition).kind, verbs: verbs.toSorted() },
    }
  })
}
