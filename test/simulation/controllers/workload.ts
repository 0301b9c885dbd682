import type { SeededRandom } from '../../../base/random.ts'
import type { JsonObject } from '../../../src/api/json.ts'
import type { Names } from '../../../src/api/metadata/names.ts'
import type { Propagation } from '../../../src/registry/calls/delete-options.ts'
import { customDefinition } from '../../support/fixtures/custom-definition.ts'
import { nodeRequest } from './issuers.ts'
import { create, createAgain, definitionGroup, remove, uidOf } from './task.ts'
import type { Kind, Task } from './task.ts'

/** How many objects of each sort the clients write. */
export type Sizes = {
  readonly namespaces: number
  /** In each namespace. */
  readonly maps: number
  readonly pods: number
  readonly dependents: number
  /** In the cluster. */
  readonly requests: number
  readonly tokens: number
  readonly roles: number
  readonly definitions: number
  /** Objects of a custom kind. */
  readonly items: number
  readonly absentPods: number
}

export function drawSizes(random: SeededRandom): Sizes {
  const upTo = (max: number): number => 1 + random.below(max)
  return {
    ...{ namespaces: 1 + upTo(2), maps: upTo(4), pods: upTo(3), dependents: upTo(4) },
    ...{ requests: upTo(5), tokens: upTo(4), roles: upTo(4), definitions: 1 + upTo(4), absentPods: upTo(3) },
    items: upTo(4),
  }
}

/** The namespace that the second round does not delete. */
export const keptNamespace = 'w0'
/** The namespace that is created again after its deletion. */
export const recreatedNamespace = 'w1'
/** The name of the objects that clients create after they recreated what holds them. */
export const laterName = 'later'
export const absentNode = 'absent'
/** The label of roles that the aggregated role selects. */
export const partLabel = 'part'
export const aggregatedRole = 'whole'
export const propagations: readonly Propagation[] = ['Background', 'Foreground', 'Orphan']

/** The wall-clock time of all machines when a run begins, without drift. */
const beginMs = 1_700_000_000_000
const hourMs = 3_600_000
/**
 * How far the clocks jump in the second round: then tokens have expired, and decided requests are
 * due.
 */
export const jumpMs = 2.5 * hourMs

export function namespacesOf({ namespaces }: Pick<Sizes, 'namespaces'>): readonly string[] {
  return Array.from({ length: namespaces }, (_, at) => `w${at}`)
}

function numbered(count: number, stem: string): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${stem}${at}`)
}

export function tokenId(number: number): string {
  return `token${number}`
}

/** The kinds of the workload, by namespace where they have one. */
const kinds = {
  namespaces: { plural: 'namespaces', namespace: null },
  maps: (namespace: string): Kind => ({ plural: 'configmaps', namespace }),
  secrets: (namespace: string): Kind => ({ plural: 'secrets', namespace }),
  accounts: (namespace: string): Kind => ({ plural: 'serviceaccounts', namespace }),
  quotas: (namespace: string): Kind => ({ plural: 'resourcequotas', namespace }),
  pods: (namespace: string): Kind => ({ plural: 'pods', namespace }),
  volumes: { plural: 'persistentvolumes', namespace: null },
  roles: { group: 'rbac.authorization', plural: 'clusterroles', namespace: null },
  requests: { group: 'certificates', plural: 'certificatesigningrequests', namespace: null },
  definitions: { group: 'apiextensions', plural: 'customresourcedefinitions', namespace: null },
  leases: (namespace: string): Kind => ({ group: 'coordination', plural: 'leases', namespace }),
  items: { group: definitionGroup, plural: 'items', namespace: keptNamespace },
} as const

/** The first round: clients create objects that give every controller something to do. */
export function buildTasks(names: Names, sizes: Sizes): readonly Task[] {
  return [
    ...namespacesOf(sizes).flatMap((namespace) => inNamespace(names, namespace, sizes)),
    ...numbered(sizes.absentPods, 'lost').map((name) =>
      create(kinds.pods('default'), name, () => ({
        spec: { nodeName: absentNode, containers: [{ name: 'c', image: 'i' }] },
      })),
    ),
    ...Array.from({ length: sizes.requests }, (_, at) => certificateRequestTask(names, at)),
    ...tokenTasks(names, sizes.tokens),
    create(kinds.roles, aggregatedRole, () => ({
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [partLabel]: 'yes' } }] },
      rules: [],
    })),
    ...roleTasks(sizes.roles),
    ...definitionTasks(names, sizes.definitions),
    ...itemTasks(names, sizes.items),
    create(kinds.volumes, 'volume', () => ({
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
    })),
    create(kinds.leases(names.systemNamespace), 'gone-server', () => ({
      metadata: { labels: { [names.identity.label]: names.identity.component } },
      spec: { leaseDurationSeconds: 3600, renewTime: '2023-11-14T22:13:20.000000Z' },
    })),
  ]
}

/** Creates all other roles after the first one, which the second round deletes. */
function roleTasks(count: number): readonly Task[] {
  const [first, ...others] = numbered(count, 'part')
  if (first === undefined) return []
  const part = (name: string, after: readonly string[]): Task =>
    create(
      kinds.roles,
      name,
      () => ({ metadata: { labels: { [partLabel]: 'yes' } }, rules: rulesOf(name) }),
      after,
    )
  const made = part(first, [])
  return [made, ...others.map((name) => part(name, [made.label]))]
}

/** The rules of a role that is selected. */
export function rulesOf(name: string): readonly JsonObject[] {
  return [{ apiGroups: [''], resources: [name], verbs: ['get'] }]
}

function inNamespace(names: Names, namespace: string, sizes: Sizes): readonly Task[] {
  const made = create(kinds.namespaces, namespace, () => ({}))
  const after = [made.label]
  const robot = create(kinds.accounts(namespace), 'robot', () => ({}), after)
  const account = { [names.label('service-account.name')]: 'robot' }
  return [
    made,
    create(
      kinds.quotas(namespace),
      'quota',
      () => ({ spec: { hard: { 'count/configmaps': '90', pods: '50', persistentvolumeclaims: '50' } } }),
      after,
    ),
    ...numbered(sizes.maps, 'map').map((name) =>
      create(kinds.maps(namespace), name, () => ({ data: { of: name } }), after),
    ),
    robot,
    create(
      kinds.secrets(namespace),
      'robot',
      () => ({ metadata: { annotations: account }, type: names.secretTypes.serviceAccountToken }),
      [robot.label],
    ),
    ...numbered(sizes.pods, 'pod').map((name) =>
      create(kinds.pods(namespace), name, () => ({ spec: podSpec() }), after),
    ),
    ...propagations.flatMap((mode) => familyTasks(namespace, mode, sizes.dependents, after)),
  ]
}

/** A Pod with one ephemeral volume. */
function podSpec(): JsonObject {
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  return {
    containers: [{ name: 'c', image: 'i' }],
    volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: claim } } }],
  }
}

export function ownerName(mode: Propagation): string {
  return `owner-${mode.toLowerCase()}`
}

/** An owner with dependents that block its deletion. */
function familyTasks(
  namespace: string,
  mode: Propagation,
  dependents: number,
  after: readonly string[],
): readonly Task[] {
  const kind = kinds.maps(namespace)
  const name = ownerName(mode)
  const owner = create(kind, name, () => ({}), after)
  const children = numbered(dependents, `${name}-child`).map((child) =>
    create(
      kind,
      child,
      async (at) => {
        const reference = { apiVersion: 'v1', kind: 'ConfigMap', name, blockOwnerDeletion: true }
        return { metadata: { ownerReferences: [{ ...reference, uid: await uidOf(at, kind, name) }] } }
      },
      [owner.label],
    ),
  )
  return [owner, ...children]
}

function certificateRequestTask(names: Names, number: number): Task {
  return create(kinds.requests, `request${number}`, () => ({
    spec: {
      ...{ signerName: names.signers.apiserverClientNodeAgent, request: nodeRequest(number) },
      usages: ['digital signature', 'key encipherment', 'client auth'],
    },
  }))
}

/** Creates bootstrap tokens for signing, and the ConfigMap that is signed with them. */
function tokenTasks(names: Names, count: number): readonly Task[] {
  const text = (value: string): string => Buffer.from(value).toString('base64')
  const info = create(kinds.maps(names.publicNamespace), 'cluster-info', () => ({
    data: { kubeconfig: 'apiVersion: v1\nkind: Config\n' },
  }))
  const tokens = Array.from({ length: count }, (_, at) =>
    create(kinds.secrets(names.systemNamespace), `bootstrap-token-${tokenId(at)}`, () => ({
      type: names.secretTypes.bootstrapToken,
      data: {
        ...{ 'token-id': text(tokenId(at)), 'token-secret': text(`0123456789abcde${at}`) },
        'usage-bootstrap-signing': text('true'),
        expiration: text(new Date(beginMs + hourMs).toISOString().replace('.000', '')),
      },
    })),
  )
  return [info, ...tokens]
}

export function definitionName(number: number): string {
  return `thing${number}s.${definitionGroup}`
}

/**
 * Definitions that request the same short name, which one of them gets. The last one is created
 * first, and then all others at the same time: leaders with different knowledge would decide
 * differently.
 */
function definitionTasks(names: Names, count: number): readonly Task[] {
  const task = (number: number, after: readonly string[]): Task => {
    const { spec } = customDefinition(names, {
      ...{ kind: `Thing${number}`, group: definitionGroup, names: { shortNames: ['same'] } },
    })
    return create(kinds.definitions, definitionName(number), () => ({ spec: spec as JsonObject }), after)
  }
  const last = task(count - 1, [])
  return [last, ...Array.from({ length: count - 1 }, (_, at) => task(at, [last.label]))]
}

/**
 * Creates a deleted namespace again, with other objects (`removeTasks` deletes it). A leader that
 * stalled while it emptied the first one must not delete any of these objects.
 */
function recreationTasks(): readonly Task[] {
  const removal = remove(kinds.namespaces, recreatedNamespace)
  const again = createAgain(kinds.namespaces, recreatedNamespace, () => ({}), [removal.label])
  return [again, ...laterKinds.map((kind) => create(kind, laterName, () => ({}), [again.label]))]
}

/** The kinds of objects that clients create in the namespace that was created again. */
export const laterKinds: readonly Kind[] = [
  kinds.maps(recreatedNamespace),
  kinds.secrets(recreatedNamespace),
  kinds.leases(recreatedNamespace),
]

/** The definition of a custom kind, which clients delete and create again. */
export const itemsDefinition = `items.${definitionGroup}`

function itemsDefinitionBody(names: Names): JsonObject {
  return { spec: customDefinition(names, { kind: 'Item', group: definitionGroup })['spec'] as JsonObject }
}

/** Objects of a custom kind. */
function itemTasks(names: Names, count: number): readonly Task[] {
  const definition = create(kinds.definitions, itemsDefinition, () => itemsDefinitionBody(names))
  const after = [definition.label, `namespaces//${keptNamespace}`]
  return [
    definition,
    ...numbered(count, 'item').map((name) => create(kinds.items, name, () => ({ spec: { size: 1 } }), after)),
  ]
}

/**
 * Deletes a definition, and creates it again with another object of its kind; see
 * `recreationTasks`.
 */
function redefinitionTasks(names: Names): readonly Task[] {
  const removal = remove(kinds.definitions, itemsDefinition)
  const body = (): JsonObject => itemsDefinitionBody(names)
  const again = createAgain(kinds.definitions, itemsDefinition, body, [removal.label])
  return [removal, again, create(kinds.items, laterName, () => ({ spec: { size: 2 } }), [again.label])]
}

/** The second round: clients delete, and the controllers finish what follows from that. */
export function removeTasks(names: Names, sizes: Sizes): readonly Task[] {
  const left = namespacesOf(sizes).filter((namespace) => namespace !== keptNamespace)
  return [
    ...left.map((namespace) => remove(kinds.namespaces, namespace)),
    ...(left.includes(recreatedNamespace) ? recreationTasks() : []),
    ...redefinitionTasks(names),
    ...propagations.map((propagationPolicy) =>
      remove(kinds.maps(keptNamespace), ownerName(propagationPolicy), { propagationPolicy }),
    ),
    ...numbered(sizes.maps, 'map').map((name) => remove(kinds.maps(keptNamespace), name)),
    ...numbered(sizes.pods, 'pod').map((name) => remove(kinds.pods(keptNamespace), name)),
    remove(kinds.accounts(keptNamespace), 'robot'),
    remove(kinds.volumes, 'volume'),
    remove(kinds.roles, 'part0'),
    // If one of these has the common short name, another definition gets it.
    ...Array.from({ length: sizes.definitions - 1 }, (_, at) =>
      remove(kinds.definitions, definitionName(at)),
    ),
  ]
}
