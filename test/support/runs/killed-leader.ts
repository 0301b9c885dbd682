import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiClient, WatchEvent, WatchHandle } from '../drivers/api-client.ts'
import type { MemberProcess, ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'

/** Objects that are written concurrently. */
const writtenAtOnce = 64

/** The part of an event that shows what a controller did. */
export type Seen = { readonly type: string; readonly name: string; readonly object: WatchEvent['object'] }

/**
 * Gives controllers many objects to work on, and kills the leader in the middle of the work.
 * Watches show every step, so that no step can be taken twice unseen.
 */
export class KilledLeader {
  readonly #t: TestContext
  readonly #cluster: ProcessCluster
  readonly objects: number

  constructor(t: TestContext, cluster: ProcessCluster, objects: number) {
    this.#t = t
    this.#cluster = cluster
    this.objects = objects
  }

  /**
   * Returns a function that begins the work, kills the leader when half of it is done, and waits
   * for the rest.
   *
   * @param path of the objects to watch
   * @param step called with each event; returns how much of the work it completes
   * @param kills 2: the leader at a third of the work, and the next one at two thirds
   */
  work(
    what: string,
    path: string,
    step: (seen: Seen) => number,
    kills = 1,
  ): (begin: () => Promise<void>) => Promise<void> {
    return async (begin) => {
      let leader = await this.#cluster.leader()
      const survivor =
        this.#cluster.members.find((member) => member !== leader) ?? assert.fail('three members')
      let done = 0
      const failures: unknown[] = []
      const see = ({ type, object }: WatchEvent): void => {
        try {
          assert.notEqual(type, 'ERROR', JSON.stringify(object))
          done += step({ type, name: object.metadata.name, object })
        } catch (cause) {
          failures.push(cause)
        }
      }
      const watch = this.#follow(path, survivor, await revisionOf(survivor.client, path), see)
      this.#t.after(() => watch.close())
      const progress = (): string => `${what}: ${done} of ${this.objects}`
      const beganMs = performance.now()
      const begun = begin()
      // How fast the work is depends on the machine: it only has to go on.
      const reaches = async (goal: number): Promise<void> => {
        for (let last = done; last < goal; last = done) {
          await until('more of the work is done', () => done > last, progress, 1)
        }
      }
      const killed: string[] = []
      for (let kill = 1; kill <= kills; kill++) {
        if (kill > 1) leader = await this.#cluster.leader()
        await reaches((this.objects * kill) / (kills + 1))
        killed.push(`${leader.name} at ${done}`)
        await leader.stop('SIGKILL')
        leader.start()
      }
      await this.#cluster.waitReady()
      await begun
      await reaches(this.objects)
      const seconds = ((performance.now() - beganMs) / 1000).toFixed(1)
      console.log(`# ${what}: ${this.objects} in ${seconds} s; killed ${killed.join(', ')}`)
      watch.close()
      assert.deepEqual(failures, [])
    }
  }

  /** Follows a watch; when its member ends, it continues at the next one, where it stopped. */
  #follow(
    path: string,
    first: MemberProcess,
    since: string,
    see: (event: WatchEvent) => void,
  ): { readonly close: () => void } {
    const { members } = this.#cluster
    let revision = since
    let isClosed = false
    let watch: WatchHandle | null = null
    const follow = async (): Promise<void> => {
      for (let at = members.indexOf(first); !isClosed; at++) {
        const { client } = members[at % members.length] ?? first
        watch = client.watch(`${path}?watch=1&resourceVersion=${revision}`, (event) => {
          if (event.type !== 'ERROR') revision = event.object.metadata.resourceVersion
          see(event)
        })
        await watch.ended
        await sleep(100)
      }
    }
    void follow()
    return {
      close: () => {
        isClosed = true
        watch?.close()
      },
    }
  }

  /** Creates an object of each name. @param uids receives the uid of each */
  create(
    path: string | ((name: string) => string),
    body: (name: string) => { readonly metadata: { readonly name: string } },
    uids = new Map<string, unknown>(),
  ): Promise<void> {
    return this.each(async (client, name) => {
      const at = typeof path === 'string' ? path : path(name)
      const object = body(name)
      const { status, text } = await client.post(at, object)
      // A retry after a lost response finds the object.
      const reply = status === 409 ? await client.get(`${at}/${object.metadata.name}`) : { status, text }
      assert.ok(reply.status === 200 || reply.status === 201, text)
      const { metadata } = JSON.parse(reply.text) as { readonly metadata: { readonly uid: string } }
      uids.set(name, metadata.uid)
    })
  }

  /** Calls `act` for each name, again until it succeeds: the leader is killed in between. */
  async each(act: (client: ApiClient, name: string) => Promise<void>): Promise<void> {
    const from = async (first: number): Promise<void> => {
      for (let at = first; at < this.objects; at += writtenAtOnce) await this.#repeat(act, at)
    }
    await Promise.all(Array.from({ length: writtenAtOnce }, (_, first) => from(first)))
  }

  async #repeat(act: (client: ApiClient, name: string) => Promise<void>, at: number): Promise<void> {
    const { members } = this.#cluster
    let attempt = 0
    let failure = ''
    const isDone = async (): Promise<boolean> => {
      const member = members[(at + attempt++) % members.length] ?? assert.fail('a member')
      try {
        await act(member.client, `o${at}`)
        return true
      } catch (cause) {
        failure = String(cause)
        return false
      }
    }
    await until(`object ${at} is written`, isDone, () => failure)
  }
}

async function revisionOf(client: ApiClient, path: string): Promise<string> {
  const { status, text } = await client.get(`${path}?limit=1`)
  assert.equal(status, 200, text)
  const list = JSON.parse(text) as { readonly metadata: { readonly resourceVersion: string } }
  return list.metadata.resourceVersion
}

export async function listed(client: ApiClient, path: string): Promise<readonly unknown[]> {
  const { status, text } = await client.get(path)
  return status === 200 ? (JSON.parse(text) as { readonly items: readonly unknown[] }).items : ['unknown']
}

/** Counts events of a type; a second one about the same object fails. */
export function once(type: string, done: string): (seen: Seen) => number {
  const names = new Set<string>()
  return (seen) => {
    if (seen.type !== type) return 0
    assert.ok(!names.has(seen.name), `${seen.name} was ${done} twice`)
    names.add(seen.name)
    return 1
  }
}
