import type { Clock } from '../../base/clock.ts'
import { equalJson, memberOf, objectMember, objectsMember, textMember, withoutMembers } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { addressAt } from '../resources/services/service-ranges.ts'
import type { ServiceRanges } from '../resources/services/service-ranges.ts'
import { partsOf } from '../store/key.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventRecorder } from './event-recorder.ts'
import { storedSubject } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'
import { isLostRace } from './lost-race.ts'
import { endpointOf, isSliceName, portOf, servicePorts, slicesOf, subsetsOf } from './server-endpoints.ts'
import type { Endpoint, MemberEndpoint, WantedSlice } from './server-endpoints.ts'

export type ServerServiceDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly ranges: ServiceRanges
  /** The Member objects. */
  readonly members: Informer<MemberEndpoint>
  /** The Service, its Endpoints and its slices: whatever may be one of them; see `isOwnObject`. */
  readonly own: readonly Informer<string>[]
  readonly events: Pick<EventRecorder, 'record'>
  /** Called with the members that cannot be endpoints, when these change and there are some. */
  readonly onUnlisted: (members: readonly string[]) => void
  readonly onError: (name: string, cause: unknown) => void
}

const NAMESPACE = 'default'

/** Plural names, which are the keys of the controller. */
const SERVICE = 'services'
const ENDPOINTS = 'endpoints'
const SLICES = 'endpointslices'

/** Returns the name of the Service of the API server, in the namespace `default`. */
export function serverServiceName({ namespaceFinalizer }: Names): string {
  return namespaceFinalizer
}

/** Whether an object in `default` may be the Service, its Endpoints or one of its slices. */
export function isOwnObject(names: Names, plural: string, name: string): boolean {
  const service = serverServiceName(names)
  return plural === SLICES ? isSliceName(service, name) : name === service
}

/**
 * Keeps the Service of the API server, with the ready members as its endpoints, while this member
 * leads. Works when it begins to lead and when members or these objects change, not periodically.
 *
 * Each write is on the condition that the object is at the version that was read before the members
 * were. So a deposed leader cannot replace what a newer one, which knows more, has written. Where
 * the newer one had nothing to write, a late write takes effect, and the newer one reverts it as it
 * does with changes of clients: each object is decided by itself, so it needs no fencing token.
 *
 * @source upstream `pkg/controlplane/controller.go`, and `pkg/controlplane/reconcilers`:
 * `instancecount.go` and `endpointsadapter.go`
 */
export function serverService(dependencies: ServerServiceDependencies): Controller {
  const { clock, names, members, own, onError } = dependencies
  const keeper = new ServerService(dependencies)
  const controller = new Controller({
    ...{ clock, onError },
    keys: () => [SERVICE, ENDPOINTS, SLICES],
    reconcile: new LastingProblems(dependencies).watched(
      (key) => keeper.reconcile(key),
      (key, words) => ({
        about: () => storedSubject(dependencies, 'namespaces', { namespace: null, name: NAMESPACE }),
        reason: 'APIServerServiceNotStored',
        message: `The ${key} of the API server, named ${serverServiceName(names)}, cannot be stored: ${words}`,
      }),
    ),
  })
  members.subscribe((change) => {
    if (change.kind === 'set' && isSame(change.value, change.previous)) return
    for (const key of [SERVICE, ENDPOINTS, SLICES]) controller.enqueue(key)
  })
  for (const informer of own) informer.subscribe(({ key }) => controller.enqueue(partsOf(key).plural))
  return controller
}

function isSame(a: MemberEndpoint, b: MemberEndpoint | null): boolean {
  return a.isReady === b?.isReady && a.clientAddress === b.clientAddress
}

class ServerService {
  readonly #dependencies: ServerServiceDependencies
  readonly #name: string
  readonly #managedBy: string
  /** The last report of members that are not listed. */
  #unlisted = ''

  constructor(dependencies: ServerServiceDependencies) {
    const { names } = dependencies
    this.#dependencies = dependencies
    this.#name = serverServiceName(names)
    this.#managedBy = names.labelUnder('endpointslice', 'managed-by')
  }

  async reconcile(key: string): Promise<Reconciled> {
    try {
      if (key === SERVICE) await this.#keepService()
      else if (key === ENDPOINTS) await this.#keepEndpoints()
      else return await this.#keepSlices()
    } catch (cause) {
      if (!isLostRace(cause)) throw cause
      return { kind: 'again' }
    }
    return { kind: 'done' }
  }

  async #keepService(): Promise<void> {
    const { catalog, client, members } = this.#dependencies
    const definition = catalog.find('', 'v1', SERVICE)
    if (definition === null) return
    const target = targetOf(this.#name)
    const found = await client.get(definition, target)
    await members.takeIn()
    const targetPort = this.#targetPort()
    if (targetPort === null) return
    const ports = servicePorts(targetPort)
    if (found === null) {
      await client.create(definition, NAMESPACE, this.#newService(ports))
      return
    }
    const spec = objectMember(found, 'spec')
    const shown = objectsMember(spec, 'ports').map((port) => withoutMembers(port, 'nodePort'))
    if (textMember(spec, 'type') === 'ClusterIP' && equalJson(shown, ports)) return
    await client.update(definition, target, { ...found, spec: { ...spec, type: 'ClusterIP', ports } })
  }

  /** Returns the lowest port of all members; nodes use the ports of the endpoints instead. */
  #targetPort(): number | null {
    const ports = this.#members().flatMap(([, member]) => portOf(member) ?? [])
    return ports.length === 0 ? null : Math.min(...ports)
  }

  #newService(ports: readonly JsonObject[]): AnyObject {
    const [range] = this.#dependencies.ranges.addresses
    return {
      ...{ apiVersion: 'v1', kind: 'Service' },
      metadata: { name: this.#name, labels: { component: 'apiserver', provider: this.#name } },
      spec: {
        ...{ type: 'ClusterIP', ports, sessionAffinity: 'None', ipFamilyPolicy: 'SingleStack' },
        ...(range === undefined ? {} : { clusterIP: addressAt(range, 0), ipFamilies: [range.family] }),
      },
    }
  }

  async #keepEndpoints(): Promise<void> {
    const { names, catalog, client } = this.#dependencies
    const definition = catalog.find('', 'v1', ENDPOINTS)
    if (definition === null) return
    const target = targetOf(this.#name)
    const found = await client.get(definition, target)
    const endpoints = await this.#endpoints()
    if (endpoints === null) return
    const subsets = subsetsOf(endpoints)
    // Slices are kept here, so the controller that copies Endpoints of users must not do it.
    const labels = { ...found?.metadata.labels, [names.labelUnder('endpointslice', 'skip-mirror')]: 'true' }
    if (found === null) {
      const metadata = { name: this.#name, labels }
      await client.create(definition, NAMESPACE, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets })
      return
    }
    const isKept = equalJson(objectsMember(found, 'subsets'), subsets)
    if (isKept && equalJson(found.metadata.labels, labels)) return
    await client.update(definition, target, { ...found, metadata: { ...found.metadata, labels }, subsets })
  }

  async #keepSlices(): Promise<Reconciled> {
    const { names, catalog, client, ranges } = this.#dependencies
    const definition = catalog.find(names.group('discovery'), 'v1', SLICES)
    if (definition === null) return { kind: 'done' }
    const found = new Map<string, AnyObject | null>()
    for (const name of new Set([this.#name, ...this.#knownSlices()]))
      found.set(name, await client.get(definition, targetOf(name)))
    const endpoints = await this.#endpoints()
    if (endpoints === null) return { kind: 'done' }
    const wanted = slicesOf(this.#name, endpoints, ranges.addresses[0]?.family ?? 'IPv4')
    let isComplete = true
    for (const slice of wanted) {
      const isKept = await this.#keepSlice(definition, slice, found.get(slice.name) ?? null)
      isComplete &&= isKept
    }
    for (const [name, slice] of found) {
      if (slice === null || wanted.some((one) => one.name === name) || !this.#isManaged(slice)) continue
      await client.delete(definition, targetOf(name), slice)
    }
    return { kind: isComplete ? 'done' : 'again' }
  }

  #knownSlices(): readonly string[] {
    return this.#dependencies.own
      .flatMap((informer) => [...informer.entries()])
      .map(([key]) => partsOf(key))
      .filter(({ plural }) => plural === SLICES)
      .map(({ name }) => name)
  }

  /** @returns false: it must be created again, because the type of its addresses cannot change */
  async #keepSlice(
    definition: ResourceDefinition,
    { name, ...members }: WantedSlice,
    found: AnyObject | null,
  ): Promise<boolean> {
    const { client } = this.#dependencies
    const target = targetOf(name)
    const labels = { ...found?.metadata.labels, ...this.#sliceLabels(name) }
    if (found === null) {
      const head = { apiVersion: `${definition.group}/v1`, kind: 'EndpointSlice' }
      await client.create(definition, NAMESPACE, { ...head, metadata: { name, labels }, ...members })
      return true
    }
    if (memberOf(found, 'addressType') !== members.addressType) {
      await client.delete(definition, target, found)
      return false
    }
    const isKept =
      equalJson(objectsMember(found, 'endpoints'), members.endpoints) &&
      equalJson(objectsMember(found, 'ports'), members.ports) &&
      equalJson(found.metadata.labels, labels)
    if (isKept) return true
    await client.update(definition, target, {
      ...found,
      metadata: { ...found.metadata, labels },
      ...members,
    })
    return true
  }

  /** Slices in addition to upstream's one have a label that marks them as managed by the server. */
  #sliceLabels(name: string): { readonly [label: string]: string } {
    const { names } = this.#dependencies
    return {
      [names.label('service-name')]: this.#name,
      ...(name === this.#name ? {} : { [this.#managedBy]: names.identity.component }),
    }
  }

  #isManaged({ metadata }: AnyObject): boolean {
    return metadata.labels?.[this.#managedBy] === this.#dependencies.names.identity.component
  }

  /**
   * Returns the endpoints of the ready members.
   *
   * @returns null: those that are stored stay, because no member has joined, or none of the members
   *   with an endpoint is ready
   * @throws StoreError
   */
  async #endpoints(): Promise<readonly Endpoint[] | null> {
    await this.#dependencies.members.takeIn()
    const members = this.#members()
    if (members.length === 0) return null
    this.#reportUnlisted(members)
    const listed = members.flatMap(([, member]) => {
      const endpoint = endpointOf(member)
      return endpoint === null ? [] : [{ isReady: member.isReady, endpoint }]
    })
    const ready = listed.filter(({ isReady }) => isReady)
    return ready.length === 0 && listed.length > 0 ? null : ready.map(({ endpoint }) => endpoint)
  }

  #reportUnlisted(members: readonly (readonly [string, MemberEndpoint])[]): void {
    const unlisted = members
      .filter(([, member]) => endpointOf(member) === null)
      .map(([name, { clientAddress }]) => `${name} (${clientAddress})`)
      .sort()
    const text = unlisted.join()
    if (text === this.#unlisted) return
    this.#unlisted = text
    if (unlisted.length > 0) this.#dependencies.onUnlisted(unlisted)
  }

  /** Returns the members that have joined, by name. */
  #members(): readonly (readonly [string, MemberEndpoint])[] {
    return [...this.#dependencies.members.entries()]
      .filter(([, { clientAddress }]) => clientAddress !== '')
      .map(([key, member]) => [partsOf(key).name, member] as const)
  }
}

function targetOf(name: string) {
  return { namespace: NAMESPACE, name, subresource: null }
}
