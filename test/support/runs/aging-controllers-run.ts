import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { namesOf } from '../../../src/api/metadata/names.ts'
import type { ApiClient } from '../drivers/api-client.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { customDefinition } from '../fixtures/custom-definition.ts'
import { until } from '../tools/until.ts'
import { KilledLeader, listed, once } from './killed-leader.ts'
import type { Seen } from './killed-leader.ts'

const names = namesOf('orch.io')
const core = '/api/v1/namespaces/default'
const events = `${core}/events`
const pods = `${core}/pods`
const accounts = `${core}/serviceaccounts`
const secrets = `${core}/secrets`
const definitions = `/apis/${names.group('apiextensions')}/v1/customresourcedefinitions`
const widgets = '/apis/example.com/v1/namespaces/default/widgets'
const eventTtlMs = 40_000
/** Pods that have ended and are kept. */
const endedPodsMax = 10

/**
 * Like `controllersRun`, for the expiry of Events and of Pods that have ended, for the Secrets of
 * service accounts in the domain orch.io, and for the objects of a deleted definition.
 */
export async function agingControllersRun(t: TestContext, objects: number): Promise<void> {
  const config = { 'event-ttl': `${eventTtlMs / 1000}s`, 'terminated-pod-gc-threshold': endedPodsMax }
  const cluster = await ProcessCluster.start({ members: 3, domain: 'orch.io', config })
  t.after(() => cluster.remove())
  const run = new Run(cluster, new KilledLeader(t, cluster, objects))
  await run.eventsExpire()
  await run.endedPodsAreRemoved()
  await run.accountsGetSecrets()
  await run.customObjectsAreRemoved()
}

class Run {
  readonly #cluster: ProcessCluster
  readonly #leader: KilledLeader

  constructor(cluster: ProcessCluster, leader: KilledLeader) {
    this.#cluster = cluster
    this.#leader = leader
  }

  /** Each Event is deleted once, and none before its lifetime since its last write has passed. */
  async eventsExpire(): Promise<void> {
    /** When the last write of each was sent, so not later than it took effect. */
    const writtenMs = new Map<string, number>()
    const expired = once('DELETED', 'deleted')
    const step = (seen: Seen): number => {
      const { type, name } = seen
      if (!isOwn(name)) return 0
      const ageMs = performance.now() - (writtenMs.get(name) ?? Infinity)
      if (type === 'DELETED') assert.ok(ageMs >= eventTtlMs, `${name} was deleted after ${ageMs} ms`)
      return expired(seen)
    }
    const work = this.#leader.work('Events expired', events, step, 2)
    await work(async () => {
      await this.#leader.create(events, (name) => {
        if (!writtenMs.has(name)) writtenMs.set(name, performance.now())
        return { metadata: { name }, involvedObject: { namespace: 'default' } }
      })
      await this.#leader.each(async (client, name) => {
        // A tenth of them is counted up later.
        if (!name.endsWith('7')) return
        const sentMs = performance.now()
        const { status, text } = await client.patch(`${events}/${name}`, { count: 2 })
        assert.ok(status === 200 || status === 404, text)
        if (status === 200) writtenMs.set(name, sentMs)
      })
    })
    await this.#everywhere('no Event of the test is left', events, (left) => !left.some(isOwn))
  }

  /** The youngest of the Pods that have ended stay. */
  async endedPodsAreRemoved(): Promise<void> {
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    const { objects } = this.#leader
    const createdAt = new Map<string, string>()
    const olderPods = Array.from({ length: endedPodsMax }, (_, at) => `older${at}`)
    const leader = await this.#cluster.leader()
    for (const name of olderPods) {
      const { status, text } = await leader.client.post(pods, { metadata: { name }, spec })
      assert.equal(status, 201, text)
    }
    await this.#leader.create(pods, (name) => ({ metadata: { name }, spec }))
    const removed = once('DELETED', 'removed')
    const work = this.#leader.work('ended Pods removed', pods, (seen) => {
      createdAt.set(seen.name, creationOf(seen.object))
      return removed(seen)
    })
    await work(async () => {
      for (const name of olderPods) await ended(leader.client, name)
      await this.#leader.each((client, name) => ended(client, name))
    })
    await this.#everywhere('the youngest ended Pods are left', pods, (left) => left.length === endedPodsMax)
    const left = (await listed(leader.client, pods)) as readonly Seen['object'][]
    const gone = [...createdAt].filter(([name]) => !left.some(({ metadata }) => metadata['name'] === name))
    assert.equal(gone.length, objects)
    const youngest = gone.map(([, at]) => at).reduce((a, b) => (a < b ? b : a), '')
    for (const pod of left) assert.ok(creationOf(pod) >= youngest, `${JSON.stringify(pod.metadata)} is older`)
  }

  /** Each account gets one Secret with one token. */
  async accountsGetSecrets(): Promise<void> {
    const made = new Map<string, string>()
    const filled = new Set<string>()
    const work = this.#leader.work('Secrets of accounts', secrets, ({ type, name, object }) => {
      const { annotations } = object.metadata as Annotated
      const account = annotations?.[names.label('service-account.name')] ?? ''
      if (!isOwn(account)) return 0
      assert.notEqual(type, 'DELETED', `${name} was removed`)
      assert.equal(made.get(account) ?? name, name, `${account} got two Secrets`)
      made.set(account, name)
      const { data } = object as { readonly data?: Readonly<Record<string, string>> }
      if ((data?.['token'] ?? '') === '') return 0
      assert.ok(!filled.has(name), `${name} was written twice`)
      filled.add(name)
      return 1
    })
    await work(() => this.#leader.create(accounts, (name) => ({ metadata: { name } })))
    assert.equal(made.size, this.#leader.objects)
  }

  /**
   * Each object of a deleted definition is removed once. One with a finalizer keeps the definition.
   */
  async customObjectsAreRemoved(): Promise<void> {
    const leader = await this.#cluster.leader()
    const definition = customDefinition(names)
    const defined = await leader.client.post(definitions, definition)
    assert.equal(defined.status, 201, defined.text)
    for (const { client } of this.#cluster.members) {
      await until('the kind is served', async () => (await client.get(widgets)).status === 200)
    }
    const widget = (name: string, finalizers: readonly string[] = []) => ({
      ...{ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name, finalizers }, spec: {} },
    })
    await this.#leader.create(widgets, (name) => widget(name))
    const kept = await leader.client.post(widgets, widget('kept', ['example.com/kept']))
    assert.equal(kept.status, 201, kept.text)
    const path = `${definitions}/widgets.example.com`
    const work = this.#leader.work('custom objects removed', widgets, once('DELETED', 'removed'))
    await work(async () => {
      const { status, text } = await leader.client.delete(path)
      assert.ok(status === 200 || status === 202, text)
    })
    const released = await leader.client.patch(`${widgets}/kept`, { metadata: { finalizers: [] } })
    assert.equal(released.status, 200, released.text)
    for (const { client } of this.#cluster.members) {
      await until('the definition is gone', async () => (await client.get(path)).status === 404)
    }
  }

  async #everywhere(
    what: string,
    path: string,
    isRight: (left: readonly string[]) => boolean,
  ): Promise<void> {
    for (const { client } of this.#cluster.members) {
      let left: readonly string[] = []
      const holds = async (): Promise<boolean> => {
        const objects = (await listed(client, path)) as readonly (Seen['object'] | 'unknown')[]
        left = objects.map((one) => (one === 'unknown' ? one : String(one.metadata['name'])))
        return !left.includes('unknown') && isRight(left)
      }
      await until(what, holds, () => left.join())
    }
  }
}

type Annotated = { readonly annotations?: Readonly<Record<string, string>> }

/** Whether an object has the name of one that the test created. */
function isOwn(name: string): boolean {
  return /^o\d+$/.test(name)
}

function creationOf({ metadata }: Seen['object']): string {
  return String((metadata as { readonly creationTimestamp?: string }).creationTimestamp)
}

/** Reports that a Pod has ended. It may be removed already when a response was lost. */
async function ended(client: ApiClient, name: string): Promise<void> {
  const { status, text } = await client.patch(`${pods}/${name}/status`, { status: { phase: 'Succeeded' } })
  assert.ok(status === 200 || status === 404, text)
}
