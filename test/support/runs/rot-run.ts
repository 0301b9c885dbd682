import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../../base/random.ts'
import { FileClusterRecord } from '../../../src/data-dir/cluster-record-file.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import type { MemberProcess } from '../drivers/process-cluster.ts'
import { describeRot, drawChanges, drawLosses, fileKinds, inflict } from './rot-targets.ts'
import type { FileKind, Rot } from './rot-targets.ts'
import { patienceMs, until } from '../tools/until.ts'

export type RotRunOptions = {
  readonly seed: number
  /** Bytes changed, one at a time. */
  readonly changes: number
  /** Files deleted, truncated or exchanged. */
  readonly losses: number
  /** MiB written before; a segment of the log has 64. */
  readonly traffic: number
}

/**
 * `harmless`: the member started normally. `healed`: it logged a repair, a fetch, or that it
 * assumes the longest lease promise, and was intact again. `refused`: it exited with one line that
 * names the damage and the remedy.
 */
export type RotVerdict = 'harmless' | 'healed' | 'refused'

export type RotTable = ReadonlyMap<FileKind, Readonly<Record<RotVerdict, number>>>

const path = '/api/v1/namespaces/default/configmaps'
const everything = '/api/v1/configmaps?resourceVersion=0'
const electionMs = 1500

/**
 * Three processes. After traffic and a snapshot one is stopped, and its directory is copied.
 * Repeatedly the directory is restored and corrupted in one place, and the member started: it must
 * refuse, or become ready with the state of the leader.
 */
export async function runRot(options: RotRunOptions): Promise<{ changes: RotTable; losses: RotTable }> {
  const cluster = await ProcessCluster.start({
    members: 3,
    config: {
      'log-retention-entries': 200,
      'log-retention-bytes': 1024 * 1024 * 1024,
      // Long, so that no election begins by itself: it would append entries that the copy lacks.
      'election-timeout': `${electionMs}ms`,
      // From level 3 on a leader records the health of members at each start and end of the victim.
      'feature-level-max': 2,
      // A member renews its lease when it is ready, and every minute.
      'feature-gates': 'APIServerIdentity=false',
      'initial-history-window': '1h',
    },
  })
  try {
    const leader = await cluster.leader()
    const victim = cluster.members.find((member) => member !== leader) ?? assert.fail('a follower')
    await prepare(leader, victim, options)
    const bench = new RotBench(cluster, leader, victim, options.seed)
    await bench.keep()
    const random = new SeededRandom(options.seed)
    const changes = await bench.tryAll(drawChanges(bench.kept, options.changes, random))
    const losses = await bench.tryAll(drawLosses(bench.kept, options.losses, random))
    await bench.atTheEnd()
    return { changes, losses }
  } finally {
    await cluster.remove()
  }
}

/**
 * Traffic: small objects while the victim is away, until it needs a snapshot; then large ones, the
 * deletion of all but two of these, and small ones again.
 */
async function prepare(
  leader: MemberProcess,
  victim: MemberProcess,
  { traffic }: RotRunOptions,
): Promise<void> {
  for (let round = 0; round === 0 || !victim.currentLog().includes('snapshot installed'); round++) {
    // If the log was not compacted in time, no snapshot was needed; that depends on the disk.
    assert.ok(round < 5, `no snapshot was needed\n${victim.currentLog()}`)
    assert.equal(await victim.stop(), 0)
    await inParallel(1400, 32, (n) => create(leader, `small-${round}-${n}`, 200))
    // The log is kept longer for a member that was in contact a moment ago.
    await sleep(2 * electionMs)
    await inParallel(100, 1, (n) => create(leader, `more-${round}-${n}`, 200))
    await leader.onDisk()
    victim.start()
    await victim.waitReady()
  }
  const largeBytes = 900_000
  const large = Math.ceil((traffic * 1024 * 1024) / largeBytes)
  await inParallel(large, 4, (n) => create(leader, `large-${n}`, largeBytes))
  // Deleted objects are still in the log and in the tables.
  await inParallel(large - 2, 4, async (n) => {
    const reply = await leader.client.call('DELETE', `${path}/large-${n}`)
    assert.equal(reply.status, 200, reply.text)
  })
  await inParallel(100, 8, (n) => create(victim, `late-${n}`, 300))
}

async function create(member: MemberProcess, name: string, bytes: number): Promise<void> {
  // Incompressible text.
  const random = new SeededRandom(name.length * 7919 + Number(name.replace(/\D/g, '')))
  const text = Buffer.from(random.bytes(Math.ceil((bytes * 3) / 4))).toString('base64')
  const reply = await member.client.post(path, { metadata: { name }, data: { text } })
  assert.equal(reply.status, 201, reply.text)
}

async function inParallel(count: number, lanes: number, one: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await one(next++)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

class RotBench {
  readonly kept: string
  readonly #cluster: ProcessCluster
  readonly #leader: MemberProcess
  readonly #victim: MemberProcess
  readonly #data: string
  readonly #seed: number
  #keptApplied = 0

  constructor(cluster: ProcessCluster, leader: MemberProcess, victim: MemberProcess, seed: number) {
    this.#cluster = cluster
    this.#leader = leader
    this.#victim = victim
    this.#seed = seed
    this.#data = join(victim.directory, 'data')
    this.kept = join(victim.directory, 'kept')
  }

  /** Stops the victim and keeps its directory. */
  async keep(): Promise<void> {
    await this.#victim.waitReady()
    this.#keptApplied = (await this.#victim.status()).appliedMemory
    assert.equal(await this.#victim.stop(), 0)
    copy(this.#data, this.kept)
  }

  async tryAll(rots: readonly Rot[]): Promise<RotTable> {
    const table = new Map<FileKind, Record<RotVerdict, number>>()
    for (const [at, rot] of rots.entries()) {
      if (at > 0 && at % 50 === 0) console.log(`# ${at} of ${rots.length} places`)
      const verdict = await this.#try(rot)
      // Databases are fetched from the others, and a damaged lease promise counts as the longest
      // possible one. Damage to other files may be beyond repair.
      const mayRefuse = !rot.kind.startsWith('database') && rot.kind !== 'lease promise'
      assert.ok(verdict !== 'refused' || mayRefuse, `seed ${this.#seed}: ${describeRot(rot)}: it heals`)
      const row = table.get(rot.kind) ?? { harmless: 0, healed: 0, refused: 0 }
      row[verdict]++
      table.set(rot.kind, row)
    }
    return table
  }

  /** Finally the victim takes part again, and all members have the same state. */
  async atTheEnd(): Promise<void> {
    copy(this.kept, this.#data)
    this.#victim.start()
    await this.#cluster.waitReady()
    await create(this.#victim, 'at-the-end', 100)
    const theirs = await this.#contents(this.#leader)
    for (const member of this.#cluster.members) {
      let own = ''
      await until(
        `${member.name} has what the leader has`,
        async () => (own = await this.#contents(member)) === theirs,
        () => difference(own, theirs),
      )
    }
  }

  async #try(rot: Rot): Promise<RotVerdict> {
    const what = `seed ${this.#seed}: ${describeRot(rot)}`
    copy(this.kept, this.#data)
    inflict(this.#data, rot)
    const log = join(this.#victim.directory, 'server.log')
    rmSync(log, { force: true })
    this.#victim.start()
    const ready = await this.#readyOrEnded(what)
    if (!ready) {
      this.#judgeRefusal(readFileSync(log, 'utf8'), await this.#victim.stop(), what)
      return 'refused'
    }
    const [mine, theirs] = [await this.#contents(this.#victim), await this.#contents(this.#leader)]
    if (mine !== theirs) assert.fail(`${what}: ${difference(mine, theirs)}`)
    const { appliedMemory } = await this.#victim.status()
    // An election may have appended an entry, which a directory from before it would lack.
    if (appliedMemory > this.#keptApplied) await this.keep()
    else await this.#victim.stop('SIGKILL')
    const given = readFileSync(log, 'utf8')
    assert.doesNotMatch(given, /broken invariant/, what)
    // With a damaged lease promise the member must assume the longest one. With another founding
    // record it must not serve.
    if (rot.kind === 'lease promise')
      assert.match(given, /lease promise was (missing|damaged), the longest possible one is assumed/, what)
    if (rot.kind === 'cluster.json') {
      const [record, kept] = [this.#data, this.kept].map((place) => new FileClusterRecord(place).read())
      assert.deepEqual(record, kept, `${what}: another cluster is refused`)
    }
    return /repaired|quarantined|longest possible one is assumed|snapshot installed/.test(given)
      ? 'healed'
      : 'harmless'
  }

  async #readyOrEnded(what: string): Promise<boolean> {
    const endMs = performance.now() + patienceMs
    while (this.#victim.running) {
      if (await this.#victim.isReady()) return true
      if (performance.now() > endMs)
        assert.fail(`${what}: neither ready nor ended\n${this.#victim.logTail()}`)
      await sleep(25)
    }
    return false
  }

  #judgeRefusal(given: string, code: number | string, what: string): void {
    assert.equal(code, 1, `${what}: ended with ${code}\n${given}`)
    const lines = given.split('\n').filter((line) => line !== '')
    // The refusal is on standard error before the member serves, and in the log afterwards.
    const spoken = lines.filter((line) => /^orch-apiserver: |"level":"fatal"/.test(line))
    assert.equal(spoken.length, 1, `${what}: one line for its operator\n${given}`)
    assert.match(spoken[0] ?? '', /log |database|data directory|\.json/, `${what}: it names what is wrong`)
    assert.match(
      spoken[0] ?? '',
      /[:;] (it may|bring|give|start|restore|remove|use)/,
      `${what}: and what to do`,
    )
    const others = lines.filter((line) => line !== spoken[0] && !line.startsWith('{'))
    assert.deepEqual(others, [], `${what}: nothing else is printed`)
    assert.doesNotMatch(given, /broken invariant/, what)
  }

  async #contents(member: MemberProcess): Promise<string> {
    const reply = await member.client.get(everything)
    assert.equal(reply.status, 200, reply.text)
    return reply.text
  }
}

/** Copies the files, but not the sockets of a lock, which are no data. */
function copy(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true })
  cpSync(from, to, { recursive: true, filter: (source) => !source.endsWith('.sock') })
}

function difference(mine: string, theirs: string): string {
  let at = 0
  while (at < mine.length && mine[at] === theirs[at]) at++
  return `served other bytes from ${at} on: ${mine.slice(at - 60, at + 60)} instead of ${theirs.slice(at - 60, at + 60)}`
}

/** Rows of a table in Markdown. */
export function rotRows(table: RotTable): readonly string[] {
  return fileKinds
    .filter((kind) => table.has(kind))
    .map((kind) => {
      const { harmless, healed, refused } = table.get(kind) ?? { harmless: 0, healed: 0, refused: 0 }
      return `| ${kind} | ${harmless} | ${healed} | ${refused} |`
    })
}
