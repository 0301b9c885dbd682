import type { Names } from '../../../src/api/metadata/names.ts'
import type { Propagation } from '../../../src/registry/calls/delete-options.ts'
import { simulatedRootCa } from './controlled-process.ts'
import type { StoredDoc, StoredObjects } from './stored-objects.ts'
import { definitionGroup } from './task.ts'
import {
  aggregatedRole,
  definitionName,
  itemsDefinition,
  keptNamespace,
  laterKinds,
  laterName,
  namespacesOf,
  ownerName,
  propagations,
  recreatedNamespace,
  rulesOf,
  tokenId,
} from './workload.ts'
import type { Sizes } from './workload.ts'

/**
 * The inputs of the checks of the state once the controllers are done. The checks are written from
 * the documentation of the API, without the code of the controllers.
 */
export type Expected = {
  readonly names: Names
  readonly sizes: Sizes
  readonly objects: StoredObjects
}

/** Returns the differences from the state that the first round has to end in. */
export function unfinishedBuild(expected: Expected): readonly string[] {
  const { sizes } = expected
  return [
    ...['default', ...namespacesOf(sizes)].flatMap((namespace) => namespaceProblems(expected, namespace)),
    ...namespacesOf(sizes).flatMap((namespace) => contentProblems(expected, namespace)),
    ...requestProblems(expected, sizes.requests),
    ...signatureProblems(expected, sizes.tokens),
    ...roleProblems(expected, 0),
    ...definitionProblems(expected, sizes.definitions),
    ...itemProblems(
      expected,
      Array.from({ length: sizes.items }, (_, at) => `item${at}`),
    ),
    ...commonProblems(expected),
  ]
}

/** Returns the differences from the state that the second round has to end in. */
export function unfinishedRemoval(expected: Expected): readonly string[] {
  const { sizes, objects, names } = expected
  const gone = (what: string, left: readonly StoredDoc[]): readonly string[] =>
    left.map(({ metadata }) => `${what} ${metadata.name} is not gone`)
  return [
    ...namespacesOf(sizes)
      .filter((namespace) => namespace !== keptNamespace && namespace !== recreatedNamespace)
      .flatMap((namespace) => [
        ...objects.inNamespace(namespace).map((key) => `${key} is left in a deleted namespace`),
        ...gone(
          'namespace',
          objects.list({ plural: 'namespaces', namespace: null }).filter(named(namespace)),
        ),
      ]),
    ...namespaceProblems(expected, keptNamespace),
    ...(namespacesOf(sizes).includes(recreatedNamespace) ? recreationProblems(expected) : []),
    ...propagations.flatMap((mode) => familyProblems(expected, mode)),
    ...quotaProblems(expected, keptNamespace),
    ...gone('claim', objects.list({ plural: 'persistentvolumeclaims', namespace: null })),
    ...gone('volume', objects.list({ plural: 'persistentvolumes', namespace: null })),
    ...gone('Pod', objects.list({ plural: 'pods', namespace: null })),
    ...gone('Secret', objects.list({ plural: 'secrets', namespace: keptNamespace }).filter(ofRobot(names))),
    ...requestProblems(expected, 0),
    ...gone('token', objects.list({ plural: 'secrets', namespace: names.systemNamespace }).filter(isToken)),
    ...signatureProblems(expected, 0),
    ...roleProblems(expected, 1),
    ...definitionProblems(expected, 1),
    ...itemProblems(expected, [laterName]),
    ...gone('event', objects.list({ plural: 'events', namespace: null })),
    ...commonProblems(expected),
  ]
}

function named(name: string): (doc: StoredDoc) => boolean {
  return ({ metadata }) => metadata.name === name
}

function isToken({ metadata }: StoredDoc): boolean {
  return metadata.name.startsWith('bootstrap-token-')
}

function ofRobot(names: Names): (doc: StoredDoc) => boolean {
  return ({ metadata }) => metadata.annotations?.[names.label('service-account.name')] === 'robot'
}

/** Checks the account, the root CA and the Secrets with tokens of an active namespace. */
function namespaceProblems({ names, objects }: Expected, namespace: string): readonly string[] {
  const problems: string[] = []
  const accounts = objects.list({ plural: 'serviceaccounts', namespace })
  if (!accounts.some(named('default'))) problems.push(`${namespace} has no default account`)
  const published = objects.get({ plural: 'configmaps', namespace }, names.rootCaConfigMap)
  if (published?.data?.[names.rootCaKey] !== simulatedRootCa())
    problems.push(`${namespace} does not have the root CA`)
  const secrets = objects
    .list({ plural: 'secrets', namespace })
    .filter(({ type }) => type === names.secretTypes.serviceAccountToken)
  for (const { metadata } of accounts) {
    const own = secrets.filter(
      (secret) => secret.metadata.annotations?.[names.label('service-account.name')] === metadata.name,
    )
    // The Secret that clients create has the name of its account.
    const kept = own.filter((secret) => secret.metadata.name !== 'robot')
    const wanted = names.keepsTokenSecrets ? 1 : 0
    if (kept.length !== wanted)
      problems.push(`account ${namespace}/${metadata.name} has ${kept.length} Secrets, not ${wanted}`)
    for (const secret of own) {
      const isOf = secret.metadata.annotations?.[names.label('service-account.uid')] === metadata.uid
      const token = Buffer.from(secret.data?.['token'] ?? '', 'base64').toString()
      if (!isOf || !token.startsWith(`${secret.metadata.name}.`))
        problems.push(`Secret ${namespace}/${secret.metadata.name} has no token of its account`)
    }
  }
  return problems
}

/** Checks that the recreated namespace has what clients created in it, and nothing from before. */
function recreationProblems(expected: Expected): readonly string[] {
  const { names, objects } = expected
  const found = objects.list({ plural: 'namespaces', namespace: null }).find(named(recreatedNamespace))
  if (found === undefined || found.metadata.deletionTimestamp !== undefined)
    return [`namespace ${recreatedNamespace} is not there again`]
  const missing = laterKinds.filter((kind) => objects.get(kind, laterName) === null)
  const right: ReadonlySet<string> = new Set(['default', laterName, names.rootCaConfigMap])
  const earlier = ['configmaps', 'serviceaccounts', 'resourcequotas']
    .flatMap((plural) => objects.list({ plural, namespace: recreatedNamespace }))
    .filter(({ metadata }) => !right.has(metadata.name))
  return [
    ...missing.map(({ plural }) => `${plural} ${laterName} is missing in ${recreatedNamespace}`),
    ...earlier.map(({ metadata }) => `${metadata.name} is left in ${recreatedNamespace}`),
    ...namespaceProblems(expected, recreatedNamespace),
  ]
}

function contentProblems(expected: Expected, namespace: string): readonly string[] {
  const { names, objects, sizes } = expected
  const problems = [...quotaProblems(expected, namespace)]
  const claims = objects.list({ plural: 'persistentvolumeclaims', namespace })
  const pods = objects.list({ plural: 'pods', namespace })
  for (const { metadata } of pods) {
    const own = claims.filter(({ metadata: { name } }) => name === `${metadata.name}-v`)
    const [claim] = own
    if (claim === undefined || own.length !== 1)
      problems.push(`Pod ${metadata.name} has ${own.length} claims`)
    else if (claim.metadata.ownerReferences?.[0]?.uid !== metadata.uid)
      problems.push(`claim ${claim.metadata.name} belongs to another Pod`)
    else if (claim.metadata.finalizers?.includes(names.label('pvc-protection')) !== true)
      problems.push(`claim ${claim.metadata.name} is not protected`)
  }
  if (claims.length !== pods.length) problems.push(`${claims.length} claims of ${pods.length} Pods`)
  if (pods.length !== sizes.pods) problems.push(`${namespace} has ${pods.length} Pods`)
  return problems
}

/** Checks that the usage is that of the stored objects, and the limits are those of the spec. */
function quotaProblems({ objects }: Expected, namespace: string): readonly string[] {
  const quota = objects.get({ plural: 'resourcequotas', namespace }, 'quota')
  if (quota === null) return [`${namespace} has no quota`]
  const count = (plural: string): string => String(objects.list({ plural, namespace }).length)
  const right = {
    'count/configmaps': count('configmaps'),
    pods: count('pods'),
    persistentvolumeclaims: count('persistentvolumeclaims'),
  }
  const { hard, used } = quota.status ?? {}
  const problems: string[] = []
  if (!isSame(used, right))
    problems.push(`quota of ${namespace} uses ${textOf(used)}, right is ${textOf(right)}`)
  if (!isSame(hard, quota.spec?.['hard'])) problems.push(`quota of ${namespace} has limits ${textOf(hard)}`)
  return problems
}

/** Checks that each request has one approval, and a certificate of its own. */
function requestProblems({ objects }: Expected, count: number): readonly string[] {
  const requests = objects.list({
    ...{ group: 'certificates', plural: 'certificatesigningrequests', namespace: null },
  })
  const problems = requests.flatMap(({ metadata, status }) => {
    const types = status?.conditions?.map(({ type }) => type) ?? []
    const isRight = textOf(types) === '["Approved"]' && (status?.certificate ?? '') !== ''
    return isRight ? [] : [`request ${metadata.name} is not finished: ${textOf(types)}`]
  })
  if (new Set(requests.map(({ status }) => status?.certificate)).size !== requests.length)
    problems.push('two requests have one certificate')
  if (requests.length !== count) problems.push(`there are ${requests.length} requests, not ${count}`)
  return problems
}

function signatureProblems({ names, objects }: Expected, tokens: number): readonly string[] {
  const info = objects.get({ plural: 'configmaps', namespace: names.publicNamespace }, 'cluster-info')
  const signed = Object.keys(info?.data ?? {})
    .filter((key) => key.startsWith('jws-kubeconfig-'))
    .sort()
  const right = Array.from({ length: tokens }, (_, at) => `jws-kubeconfig-${tokenId(at)}`)
  return textOf(signed) === textOf(right) ? [] : [`cluster-info is signed by ${textOf(signed)}`]
}

/** @param from the number of the first role that is left */
function roleProblems({ objects, sizes }: Expected, from: number): readonly string[] {
  const role = objects.get(
    { ...{ group: 'rbac.authorization', plural: 'clusterroles' }, namespace: null },
    aggregatedRole,
  )
  const right = Array.from({ length: sizes.roles }, (_, at) => at)
    .filter((at) => at >= from)
    .flatMap((at) => rulesOf(`part${at}`))
  const rules = (role?.rules ?? []) as readonly object[]
  const sorted = (list: readonly object[]): string =>
    textOf(list.map((rule) => textOf(sortedEntries(rule))).sort())
  return sorted(rules) === sorted(right) ? [] : [`the aggregated role has the rules ${textOf(rules)}`]
}

/** Checks that one of the definitions has the short name that all of them request. */
function definitionProblems({ objects, sizes }: Expected, count: number): readonly string[] {
  const all = { group: 'apiextensions', plural: 'customresourcedefinitions', namespace: null }
  const definitions = objects.list(all).filter(({ metadata }) => metadata.name !== itemsDefinition)
  const problems: string[] = []
  if (definitions.length !== count) problems.push(`there are ${definitions.length} definitions, not ${count}`)
  if (count === 1 && !definitions.some(named(definitionName(sizes.definitions - 1))))
    problems.push('another definition is left')
  const having = definitions.filter(
    ({ status }) => status?.acceptedNames?.shortNames?.includes('same') === true,
  )
  if (having.length !== 1)
    problems.push(`${having.length} definitions of ${definitionGroup} have the short name`)
  for (const { metadata, status } of definitions) {
    const condition = status?.conditions?.find(({ type }) => type === 'NamesAccepted')
    if (condition === undefined) problems.push(`the names of ${metadata.name} are not decided`)
  }
  return problems
}

/** @param right the names of the objects of the custom kind */
function itemProblems({ objects }: Expected, right: readonly string[]): readonly string[] {
  const items = objects.list({ group: definitionGroup, plural: 'items', namespace: null })
  const found = items.map(({ metadata }) => metadata.name).sort()
  const definition = objects.get(
    { group: 'apiextensions', plural: 'customresourcedefinitions', namespace: null },
    itemsDefinition,
  )
  const isServed = definition?.status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  )
  return [
    ...(isServed === true && definition?.metadata.deletionTimestamp === undefined
      ? []
      : [`${itemsDefinition} is not established`]),
    ...(textOf(found) === textOf(right) ? [] : [`the items are ${textOf(found)}, not ${textOf(right)}`]),
  ]
}

function familyProblems({ objects, sizes }: Expected, mode: Propagation): readonly string[] {
  const name = ownerName(mode)
  const maps = objects.list({ plural: 'configmaps', namespace: keptNamespace })
  const children = maps.filter(({ metadata }) => metadata.name.startsWith(`${name}-child`))
  if (maps.some(named(name))) return [`the owner deleted with ${mode} is not gone`]
  if (mode !== 'Orphan') return children.map(({ metadata }) => `dependent ${metadata.name} is not gone`)
  if (children.length !== sizes.dependents) return [`${children.length} dependents are left as orphans`]
  return children
    .filter(({ metadata }) => (metadata.ownerReferences ?? []).length > 0)
    .map(({ metadata }) => `dependent ${metadata.name} still has its owner`)
}

function commonProblems({ names, objects }: Expected): readonly string[] {
  const leases = objects.list({
    ...{ group: 'coordination', plural: 'leases' },
    namespace: names.systemNamespace,
  })
  return leases.map(({ metadata }) => `lease ${metadata.name} of a former server is not gone`)
}

function isSame(a: unknown, b: unknown): boolean {
  return textOf(sortedEntries(a ?? {})) === textOf(sortedEntries(b ?? {}))
}

function sortedEntries(object: object): readonly (readonly [string, unknown])[] {
  return Object.entries(object as Readonly<Record<string, unknown>>).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function textOf(value: unknown): string {
  return JSON.stringify(value)
}
