import { compareVersions } from '../../api/metadata/group-version.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'

/** A group with its versions, the preferred one first. */
export type DiscoveredGroup = {
  /** Empty: the core group. */
  readonly name: string
  readonly versions: readonly DiscoveredVersion[]
}

export type DiscoveredVersion = {
  readonly version: string
  /** In order of their names. */
  readonly kinds: readonly ResourceDefinition[]
}

/**
 * Returns kinds by group and version, in discovery order. If two groups have a resource of the same
 * name, clients that are given only the name use the first group.
 *
 * @param stemOf `storage` of `storage.orch.io`
 */
export function discoveredGroups(
  kinds: readonly ResourceDefinition[],
  stemOf: (group: string) => string,
): readonly DiscoveredGroup[] {
  const groups = new Map<string, Map<string, ResourceDefinition[]>>()
  for (const kind of kinds) {
    const versions = groups.get(kind.group) ?? new Map<string, ResourceDefinition[]>()
    groups.set(kind.group, versions)
    const members = versions.get(kind.version) ?? []
    versions.set(kind.version, members)
    members.push(kind)
  }
  // A group may consist of custom kinds only and share its stem with a built-in group.
  const own = new Set(kinds.filter(({ custom }) => custom === undefined).map(({ group }) => group))
  const place = (group: string): number => (own.has(group) ? placeOf(stemOf(group)) : ORDER.length)
  return [...groups.keys()]
    .toSorted((a, b) => place(a) - place(b) || (a < b ? -1 : 1))
    .map((name) => ({ name, versions: versionsOf(groups.get(name) ?? new Map()) }))
}

function versionsOf(
  versions: ReadonlyMap<string, readonly ResourceDefinition[]>,
): readonly DiscoveredVersion[] {
  return [...versions]
    .map(([version, kinds]) => ({
      version,
      kinds: kinds.toSorted((a, b) => (a.plural < b.plural ? -1 : 1)),
    }))
    .toSorted((a, b) => compareVersions(a.version, b.version))
}

function placeOf(stem: string): number {
  const place = ORDER.indexOf(stem)
  return place === -1 ? ORDER.length : place
}

/**
 * By stem; all other groups follow.
 * @source kube-aggregator's group priorities of release 1.24
 */
const ORDER: readonly string[] = [
  ...['', 'apiregistration', 'apps', 'events', 'authentication', 'authorization', 'autoscaling', 'batch'],
  ...['certificates', 'networking', 'policy', 'rbac.authorization', 'storage', 'admissionregistration'],
  ...['apiextensions', 'scheduling', 'coordination', 'node', 'discovery', 'flowcontrol.apiserver'],
]
