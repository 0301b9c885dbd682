/*
 * Goal: a read without resourceVersion sees every write that any member acknowledged before it.
 * Method: write through one member, read through another at once; then the same from a follower
 * that was paused while the write happened, and from a leader that was deposed while it was paused,
 * with the read already waiting in its socket when it wakes. The same procedure against a server
 * whose barrier is switched off must find stale reads, which proves that the procedure can detect
 * them.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiClient } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { newRegister, readRegister, registerMaps, writeRegister } from '../support/runs/register.ts'

const noBarrier = fileURLToPath(new URL('../support/runs/no-barrier-server.js', import.meta.url))

type Outcome = { readonly reads: number; readonly stale: number; readonly unanswered: number }

async function read(client: ApiClient): Promise<number | null> {
  return (await readRegister(client))?.value ?? null
}

/** Counts the reads of each kind that missed an acknowledged write. */
class Procedure {
  #value = 0
  readonly #cluster: ProcessCluster

  constructor(cluster: ProcessCluster) {
    this.#cluster = cluster
  }

  async create(): Promise<void> {
    const reply = await this.#first().client.post(registerMaps, newRegister)
    assert.equal(reply.status, 201, reply.text)
  }

  #first(): MemberProcess {
    return this.#cluster.members[0] ?? assert.fail('a cluster has members')
  }

  /** @returns also whether one leader led all the time: on a busy machine another may be elected */
  async acrossMembers(rounds: number): Promise<Outcome & { readonly undisturbed: boolean }> {
    const { term } = await (await this.#cluster.leader()).status()
    const { members } = this.#cluster
    let stale = 0
    let unanswered = 0
    for (let round = 0; round < rounds; round++) {
      const writer = members[round % members.length] as MemberProcess
      const reader = members[(round + 1 + (round % 2)) % members.length] as MemberProcess
      await writeRegister(writer.client, ++this.#value)
      const seen = await read(reader.client)
      if (seen === null) unanswered++
      else if (seen < this.#value) stale++
    }
    const after = await (await this.#cluster.leader()).status()
    return { reads: rounds, stale, unanswered, undisturbed: after.term === term }
  }

  /**
   * Pauses a member, lets the others acknowledge a write, and queues reads at the paused member,
   * which it finds when it resumes.
   */
  async fromPaused(target: MemberProcess): Promise<Outcome> {
    await read(target.client)
    const wasLeader = (await this.#cluster.leader()) === target
    target.signal('SIGSTOP')
    try {
      const other = wasLeader ? await this.#cluster.leader(target) : await this.#otherThan(target)
      await writeRegister(other.client, ++this.#value)
      const reads = Array.from({ length: 4 }, () => read(target.client))
      await sleep(50)
      target.signal('SIGCONT')
      const seen = await Promise.all(reads)
      return {
        reads: seen.length,
        stale: seen.filter((value) => value !== null && value < this.#value).length,
        unanswered: seen.filter((value) => value === null).length,
      }
    } finally {
      target.signal('SIGCONT')
      await target.waitReady()
    }
  }

  async #otherThan(target: MemberProcess): Promise<MemberProcess> {
    return this.#cluster.members.find((member) => member !== target) ?? assert.fail('another member')
  }

  /**
   * @param isEnough returns whether deposed leaders gave enough responses to judge them. If not, as
   *   on a busy machine, there are more rounds, up to 20.
   */
  async whole(isEnough: (deposed: Outcome) => boolean): Promise<{
    readonly across: Outcome
    readonly follower: Outcome
    readonly deposed: Outcome
  }> {
    await this.create()
    let across = await this.acrossMembers(150)
    for (let more = 0; more < 4 && across.unanswered > 0 && !across.undisturbed; more++) {
      const again = await this.acrossMembers(150)
      across = { ...again, stale: across.stale + again.stale, reads: across.reads + again.reads }
    }
    const followers: Outcome[] = []
    const leaders: Outcome[] = []
    for (let round = 0; round < 4 || (round < 20 && !isEnough(sum(leaders))); round++) {
      const leader = await this.#cluster.leader()
      followers.push(await this.fromPaused(await this.#otherThan(leader)))
      leaders.push(await this.fromPaused(await this.#cluster.leader()))
    }
    return { across, follower: sum(followers), deposed: sum(leaders) }
  }
}

function sum(outcomes: readonly Outcome[]): Outcome {
  return outcomes.reduce(
    (total, one) => ({
      reads: total.reads + one.reads,
      stale: total.stale + one.stale,
      unanswered: total.unanswered + one.unanswered,
    }),
    { reads: 0, stale: 0, unanswered: 0 },
  )
}

void describe('most-recent reads', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3 })
  })
  after(() => cluster.remove())

  void test('spec 4.8.3: a get without resourceVersion sees every acknowledged write, on every member', async () => {
    const hasAnswered = ({ reads, unanswered }: Outcome): boolean => reads > unanswered
    const { across, follower, deposed } = await new Procedure(cluster).whole(hasAnswered)
    console.log(
      `# stale reads with the barrier: ${across.stale} of ${across.reads} across members, ${follower.stale} of ${follower.reads} from a resumed follower, ${deposed.stale} of ${deposed.reads} from a deposed leader`,
    )
    assert.deepEqual([across.stale, follower.stale, deposed.stale], [0, 0, 0])
    assert.equal(across.unanswered, 0, 'every read of an undisturbed cluster was answered')
    assert.ok(follower.reads > follower.unanswered, 'a resumed follower answered')
    assert.ok(deposed.reads > deposed.unanswered, 'a deposed leader answered')
  })
})

void describe('most-recent reads with the barrier switched off', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3, program: noBarrier })
  })
  after(() => cluster.remove())

  void test('the same procedure detects stale reads without the barrier', async () => {
    const { across, follower, deposed } = await new Procedure(cluster).whole(({ stale }) => stale > 0)
    console.log(
      `# stale reads without the barrier: ${across.stale} of ${across.reads} across members, ${follower.stale} of ${follower.reads} from a resumed follower, ${deposed.stale} of ${deposed.reads} from a deposed leader`,
    )
    assert.ok(across.stale + follower.stale + deposed.stale > 0, 'without the barrier reads are stale')
    assert.ok(deposed.stale > 0, 'a deposed leader returns stale reads')
  })
})
