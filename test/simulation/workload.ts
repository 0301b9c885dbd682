import type { SeededRandom } from '../../raft/base/random.ts'
import { ConsensusFailure } from '../../raft/index.ts'
import type { Command, EncodedObject } from '../../src/store/command.ts'
import { StoreFailure } from '../../src/store/errors.ts'
import { keyOf } from '../../src/store/key.ts'
import type { Key } from '../../src/store/key.ts'
import { defaultStoreLimits } from '../../src/store/limits.ts'
import type { ClientHistory } from './checkers/client-history.ts'
import type { Life, Member } from './process.ts'
import type { World } from './world.ts'

export type WorkloadOptions = {
  readonly world: World
  readonly members: readonly Member[]
  readonly history: ClientHistory
  readonly clients: number
  readonly thinkMsMax: number
  readonly payloadBytesMax: number
  /** `skipped`: reads are served without asking anybody, to show that the checkers notice. */
  readonly barrier: 'used' | 'skipped'
}

/**
 * Clients that write objects nobody else writes, and read. Each talks to one member at a time. A client whose
 * member dies never hears the end of its request.
 */
export class Workload {
  readonly #options: WorkloadOptions
  #nextKey = 1
  #writing = true

  constructor(options: WorkloadOptions) {
    this.#options = options
  }

  start(): void {
    const { world, clients } = this.#options
    for (let client = 0; client < clients; client++) this.#again(client, world.random.fork())
  }

  /** What is under way may end; nothing new begins. */
  stop(): void {
    this.#writing = false
  }

  /** One write through `member`. @returns whether it was acknowledged */
  async write(member: Member, payloadBytes: number, timeoutMs: number): Promise<boolean> {
    const { history } = this.#options
    const { life } = member
    if (life === null || life.store === null) return false
    const { key, command } = this.#command(payloadBytes)
    const deadline = life.clock.monotonicMs() + timeoutMs
    try {
      const outcome = await life.store.write(command, deadline)
      if (outcome.kind === 'done') history.wrote(key, outcome.revisions[0] ?? 0)
      return outcome.kind === 'done'
    } catch (cause) {
      if (!(cause instanceof StoreFailure)) throw cause
      if (cause.applied === 'no') history.wroteNothing(key)
      else history.wroteMaybe()
      return false
    }
  }

  async read(member: Member, timeoutMs: number): Promise<boolean> {
    const { history, barrier } = this.#options
    const { life } = member
    if (life === null || life.store === null) return false
    const due = history.readBegins()
    try {
      if (barrier === 'used') await life.store.barrier(life.clock.monotonicMs() + timeoutMs)
    } catch (cause) {
      if (cause instanceof StoreFailure || cause instanceof ConsensusFailure) return false
      throw cause
    }
    history.readEnds(member.id, due, life.store.view())
    return true
  }

  #again(client: number, random: SeededRandom): void {
    const { world, thinkMsMax } = this.#options
    world.schedule((random.below(1000) / 1000) * thinkMsMax, `client ${client}`, null, () => {
      if (!this.#writing) return
      this.#act(random).then(
        () => this.#again(client, random),
        (cause: unknown) => world.fail(cause),
      )
    })
  }

  async #act(random: SeededRandom): Promise<void> {
    const { world, members, payloadBytesMax } = this.#options
    const member = random.pick(members)
    const { life } = member
    if (life === null) return
    const timeoutMs = 20 + random.below(3_000)
    const action = random.chance(0.5)
      ? this.write(member, random.below(payloadBytesMax), timeoutMs)
      : this.read(member, timeoutMs)
    // Whoever talks to a process that dies, or sleeps for long, gives up.
    await Promise.race([action, this.#givenUp(world, life, timeoutMs)])
  }

  #givenUp(world: World, _life: Life, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => world.schedule(timeoutMs + 500, 'client gives up', null, resolve))
  }

  #command(payloadBytes: number): { readonly key: Key; readonly command: Command } {
    const name = `c${this.#nextKey++}`
    const key = keyOf({ group: '', plural: 'configmaps', namespace: 'ns', name })
    const object = encodeObject(name, payloadBytes)
    // Without a condition: a command that took effect twice shows by its revision.
    return { key, command: { kind: 'write', operations: [{ kind: 'put', key, conditions: [], object }] } }
  }
}

/** The first command of the cluster; every member may propose it, one wins. */
export function bootstrapCommand(): Command {
  return {
    kind: 'bootstrap',
    identity: {
      clusterId: 'simulated',
      apiDomain: 'orch.io',
      continueTokenKey: new Uint8Array(32),
      keyFingerprints: {},
    },
    settings: {
      historyWindowMs: 300_000,
      historyEventsMin: 100,
      objectBytesMax: defaultStoreLimits.commandBytesMax,
      storageBytesMax: null,
    },
    operations: [],
    featureLevel: 1,
  }
}

function encodeObject(name: string, payloadBytes: number): EncodedObject {
  const head = '{"kind":"ConfigMap","apiVersion":"v1",'
  const before = `${head}"metadata":{"name":"${name}","namespace":"ns","resourceVersion":"`
  const after = `","uid":"u-${name}"},"data":{"x":"${'x'.repeat(payloadBytes)}"}}`
  return {
    bytes: Buffer.from(before + after),
    revisionOffset: before.length,
    itemOffset: head.length,
    uid: `u-${name}`,
    terminating: false,
    labels: null,
  }
}
