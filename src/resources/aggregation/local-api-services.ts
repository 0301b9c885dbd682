import type { Names } from '../../api/metadata/names.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'
import type { InitialObject } from '../common/initial-object.ts'

/**
 * Priorities of the groups, by their name without the API domain.
 *
 * @source upstream `cmd/kube-apiserver/app/aggregator.go` of release 1.24
 */
const groupPriorities: { readonly [stem: string]: number } = {
  ...{ '': 18_000, apps: 17_800, events: 17_750, authentication: 17_700, authorization: 17_600 },
  ...{ autoscaling: 17_500, batch: 17_400, certificates: 17_300, networking: 17_200, policy: 17_100 },
  ...{ 'rbac.authorization': 17_000, storage: 16_800, apiextensions: 16_700, admissionregistration: 16_700 },
  ...{ scheduling: 16_600, coordination: 16_500, node: 16_300, discovery: 16_200 },
  'flowcontrol.apiserver': 16_100,
}

/** Priorities of versions; entries with a group take precedence. */
const versionPriorities: { readonly [version: string]: number } = {
  ...{ '/v1': 1, 'autoscaling/v2': 30, 'autoscaling/v2beta2': 1, 'events/v1beta1': 5 },
  ...{ 'discovery/v1beta1': 12, v1: 15, v1beta2: 12, v1beta1: 9 },
}

/** Priorities for groups and versions not listed above, such as those of custom kinds. */
const OTHER_GROUP = 1000
const OTHER_VERSION = 100

/** Returns the name of the label of APIServices that the server manages. */
export function automanagedLabel(names: Names): string {
  return names.labelUnder('kube-aggregator', 'automanaged')
}

/** Returns the APIService of a group and version of custom kinds. */
export function customApiService(names: Names, group: string, version: string): InitialObject {
  return {
    ...identity(names, `${version}.${group}`),
    labels: { [automanagedLabel(names)]: 'true' },
    members: {
      spec: { group, version, groupPriorityMinimum: OTHER_GROUP, versionPriority: OTHER_VERSION },
    },
  }
}

function identity(
  names: Names,
  name: string,
): Pick<InitialObject, 'group' | 'version' | 'plural' | 'kind' | 'name'> {
  return {
    ...{ group: names.group('apiregistration'), version: 'v1', plural: 'apiservices' },
    ...{ kind: 'APIService', name },
  }
}

/**
 * Returns an APIService for each group and version of the built-in kinds, except for the group of
 * APIService.
 */
export function localApiServices(
  names: Names,
  builtIn: readonly ResourceDefinition[],
): readonly InitialObject[] {
  const own = names.group('apiregistration')
  const served = new Map(
    builtIn
      .filter(({ group }) => group !== own)
      .map(({ group, version }) => [`${version}.${group}`, { group, version }]),
  )
  return [...served].map(([name, { group, version }]) => {
    const stem = names.groupStem(group)
    const groupPriorityMinimum = groupPriorities[stem] ?? OTHER_GROUP
    const ranked = versionPriorities[`${stem}/${version}`] ?? versionPriorities[version]
    const versionPriority = groupPriorities[stem] === undefined ? OTHER_VERSION : (ranked ?? OTHER_VERSION)
    const spec = { ...(group === '' ? {} : { group }), version, groupPriorityMinimum, versionPriority }
    return {
      ...identity(names, name),
      labels: { [automanagedLabel(names)]: 'onstart' },
      members: { spec },
    }
  })
}
