/*
 * Goal: for any requested version, every member responds by the table of the specification: leader
 * and followers, right after a restart or a failover, and after a snapshot was installed.
 * Method: each cell of the table on each of three real processes, for objects with a compacted
 * history; repeated after each of these events.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { versionOf } from '../support/runs/cluster-traffic.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { assertTable, gotOf, tableCells, tableFacts, watchedOf } from '../support/runs/version-table.ts'
import type { QueriedServer, Facts, Text } from '../support/runs/version-table.ts'
import { until } from '../support/tools/until.ts'

const collection = '/api/v1/namespaces/default/configmaps'
/** More than the log retains, so that an absent member needs a snapshot. */
const writes = 4000

function askedOf({ client }: MemberProcess): QueriedServer {
  const whole = async (path: string): Promise<Text> => {
    const { status, headers, text } = await client.get(path)
    const retryAfter = headers['retry-after']
    return { status, text, retryAfter: typeof retryAfter === 'string' ? retryAfter : null }
  }
  return {
    get: async (path) => gotOf(await whole(path)),
    watch: async (path) => watchedOf(await whole(path)),
  }
}

async function make(member: MemberProcess, name: string, labels: object): Promise<string> {
  const reply = await member.client.post(collection, {
    metadata: { name, labels },
    data: { x: 'y'.repeat(99) },
  })
  assert.equal(reply.status, 201, reply.text)
  return versionOf(reply.text)
}

async function makeMany(member: MemberProcess, count: number): Promise<void> {
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) await make(member, `other-${next++}`, {})
  }
  await Promise.all(Array.from({ length: 32 }, one))
}

async function setHistory(member: MemberProcess, windowMs: number, eventsMin: number): Promise<void> {
  const settings = { historyWindowMs: windowMs, historyEventsMin: eventsMin }
  const reply = await member.client.post('/cluster/v1/settings', settings)
  assert.equal(reply.status, 200, reply.text)
}

/** Objects whose history is compacted once the third of them exists. */
function factsOf(cluster: ProcessCluster): Promise<Facts> {
  const first = cluster.member('n1')
  return tableFacts(askedOf(first), {
    ...{ url: `${collection}?labelSelector=of%3Dtable`, collection, first: 't' },
    make: (name) => make(first, name, { of: 'table' }),
    compact: async (version) => {
      await setHistory(first, 1000, 0)
      const before = `${collection}?resourceVersionMatch=Exact&resourceVersion=${Number(version) - 1}`
      for (const { client, name } of cluster.members) {
        await until(`${name} forgets its history`, async () => (await client.get(before)).status === 410)
      }
      // Longer than the test takes, on a busy machine too.
      await setHistory(first, 3_600_000, 1000)
    },
  })
}

void describe('the resourceVersion table on every member', () => {
  let cluster: ProcessCluster
  let facts: Facts
  let answers: ReadonlyMap<string, string> | null = null

  const assertSame = async (members: readonly MemberProcess[]): Promise<void> => {
    for (const member of members) {
      const exact = await assertTable(askedOf(member), facts)
      answers ??= exact
      assert.deepEqual(exact, answers, `${member.name} answers what the others do`)
    }
    const names = members.map(({ name }) => name).join(', ')
    console.log(`# ${tableCells} cells on each of ${names}, ${answers?.size} of them equal to the byte`)
  }

  const aFollower = async (): Promise<MemberProcess> => {
    const leader = await cluster.leader()
    return cluster.members.find((member) => member !== leader) ?? assert.fail('there is a follower')
  }

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3, config: { 'log-retention-entries': 500 } })
    try {
      facts = await factsOf(cluster)
    } catch (cause) {
      // When this fails, no `after` hook runs.
      await cluster.remove()
      throw cause
    }
  })
  after(() => cluster.remove())

  void test('spec 4.8.3, 4.8.4: each cell of the table, on leader and followers', async () => {
    await assertSame(cluster.members)
  })

  void test('spec 4.8.3: the table is the same right after a restart', async () => {
    const follower = await aFollower()
    assert.equal(await follower.stop('SIGTERM'), 0)
    follower.start()
    await follower.waitReady()
    await assertSame([follower])
  })

  void test('spec 4.8.3: the table is the same under another leader, and on the one that was killed', async () => {
    const leader = await cluster.leader()
    await leader.stop('SIGKILL')
    await cluster.leader(leader)
    await assertSame(cluster.members.filter((member) => member !== leader))
    leader.start()
    await leader.waitReady()
    await assertSame([leader])
  })

  void test('spec 4.8.3: the table is the same on a member restored from a snapshot', async () => {
    const follower = await aFollower()
    assert.equal(await follower.stop('SIGTERM'), 0)
    const others = cluster.members.filter((member) => member !== follower)
    await makeMany(await cluster.leader(), writes)
    // A log is compacted only up to what is on disk.
    await Promise.all(others.map((member) => member.onDisk()))
    follower.start()
    await follower.waitReady()
    assert.match(follower.currentLog(), /snapshot installed/)
    await assertSame(cluster.members)
  })

  void test('spec 4.8.5: reads of a future version wait on every member', async () => {
    const writer = await cluster.leader()
    /** Requests a future version in each way, then writes until that version exists. */
    const waited = async ({ name, client }: MemberProcess, round: number): Promise<boolean> => {
      const newest = Number(versionOf((await client.get(`${collection}?limit=1`)).text))
      const at = `resourceVersion=${newest + 3}`
      const lists = ['NotOlderThan', 'Exact'].map(
        (match) => `${collection}?limit=1&resourceVersionMatch=${match}&${at}`,
      )
      const waiting = [...lists, `${facts.object}?${at}`].map((path) => client.get(path))
      await Promise.all([1, 2, 3].map((late) => make(writer, `late-${name}-${round}-${late}`, {})))
      const replies = await Promise.all(waiting)
      for (const { status, text } of replies) assert.ok(status === 200 || status === 504, text)
      return replies.every(({ status }) => status === 200)
    }
    for (const member of cluster.members) {
      // On a busy machine three writes may take longer than the longest wait.
      let round = 0
      while (!(await waited(member, round))) assert.ok(++round < 10, `${member.name} never waits`)
    }
  })

  void test('spec 4.8.5: a read of a future version fails with 504 after the longest wait on every member', async () => {
    const at = `resourceVersion=${Number(facts.now) + 1_000_000}`
    const initial = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
    const paths = [`${collection}?${at}`, `${facts.object}?${at}`, `${collection}?${initial}&${at}`]
    const requested = cluster.members.flatMap((member) => paths.map((path) => askedOf(member).get(path)))
    for (const { status, retryAfter, doc } of await Promise.all(requested)) {
      assert.deepEqual([status, retryAfter, doc.reason], [504, '1', 'Timeout'])
      assert.match(doc.message ?? '', /Too large resource version/)
      assert.equal(doc.details?.causes?.[0]?.reason, 'ResourceVersionTooLarge')
    }
  })
})
