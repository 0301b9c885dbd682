/*
 * Goal: a cluster is bootstrapped once, by all its initial members. A member with another list of
 * members gets the reason of its rejection; one that lost its directory never bootstraps the
 * cluster again, whichever members are down; and an old member that returns to a re-created cluster
 * makes no other member exit. A restored cluster is bootstrapped in the same way.
 * Method: three real members; directories are emptied, kept and brought back.
 */
import assert from 'node:assert/strict'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import { orchctl } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const path = '/api/v1/namespaces/default/configmaps'
const data = (member: MemberProcess): string => join(member.directory, 'data')

async function create(member: MemberProcess, name: string): Promise<void> {
  let last = ''
  await until(
    `${name} is acknowledged`,
    async () => {
      const { status, text } = await member.client.post(path, { metadata: { name } })
      // The first try may have created the object although it was not acknowledged.
      const isThere = status === 201 || (last !== '' && status === 409)
      last = text
      return isThere
    },
    () => last,
  )
}

/** Copies a data directory without the lock of the process that used it. */
function copyData(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (file) => !file.endsWith('.sock') })
}

function clusterIdOf(member: MemberProcess): string {
  const { clusterId } = JSON.parse(readFileSync(join(data(member), 'cluster.json'), 'utf8')) as {
    readonly clusterId: string
  }
  return clusterId
}

/** Starts a stopped member with another list of initial members, and then repairs it. */
async function startWithAnotherList(wrong: MemberProcess, others: readonly MemberProcess[]): Promise<void> {
  const file = join(wrong.directory, 'config.yaml')
  const right = readFileSync(file, 'utf8')
  const config = parse(right) as { readonly 'initial-members': readonly object[] }
  const fourth = { name: 'n4', 'peer-address': '127.0.0.1:1', 'client-address': '127.0.0.1:2' }
  writeFileSync(file, stringify({ ...config, 'initial-members': [...config['initial-members'], fourth] }))
  wrong.start()
  const words =
    /began with another list of members than this one: give all the same --initial-members, and a new --data-dir/
  const fromThere = new RegExp(`member .{0,3}${wrong.name}.{0,3} ${words.source}`)
  await until(
    'all members report it',
    () => words.test(wrong.currentLog()) && others.every((other) => fromThere.test(other.currentLog())),
    () => [wrong, ...others].map((member) => member.logTail()).join('\n'),
  )
  for (const member of [wrong, ...others]) assert.equal(await member.isReady(), false, member.name)
  assert.equal(await wrong.stop(), 0)
  writeFileSync(file, right)
  rmSync(data(wrong), { recursive: true })
}

void test('no write is acknowledged before all initial members took part, with one list of them', async (t) => {
  const cluster = await ProcessCluster.prepare({ members: 3 })
  t.after(() => cluster.remove())
  const [a, b, c] = cluster.members
  if (a === undefined || b === undefined || c === undefined) return assert.fail('three members')
  a.start()
  b.start()
  await until(
    'both report the members that they wait for',
    () =>
      [a, b].every(
        (member) => /waiting for some/.test(member.currentLog()) && /n3/.test(member.currentLog()),
      ),
    () => `${a.logTail()}\n${b.logTail()}`,
  )
  let text = ''
  await until(
    'readiness reports it',
    async () => {
      text = (await a.client.get('/readyz?verbose')).text
      return /^\[-\]founding failed: the cluster is founded once .*: waiting for n3$/m.test(text)
    },
    () => text,
  )
  assert.match(text, /^\[-\]leader failed: reason withheld$/m)
  // A member that took part in nothing yet may lose its directory.
  assert.equal(await b.stop(), 0)
  rmSync(data(b), { recursive: true })
  b.start()
  const reply = await a.client.post(`${path}?timeout=2s`, { metadata: { name: 'early' } })
  assert.notEqual(reply.status, 201, reply.text)
  assert.deepEqual([await a.isReady(), await b.isReady()], [false, false])
  await startWithAnotherList(c, [a, b])
  c.start()
  await cluster.waitReady()
  await create(a, 'acked')
  assert.deepEqual([clusterIdOf(b), clusterIdOf(c)], [clusterIdOf(a), clusterIdOf(a)])
})

async function bothReportLost(b: MemberProcess, c: MemberProcess): Promise<void> {
  await until(
    'both report the reason',
    () =>
      [b, c].every((member) => /n2\W+ is recorded with another log, which it lost/.test(member.currentLog())),
    () => `${b.logTail()}\n${c.logTail()}`,
  )
}

void test('a member that lost its data directory does not bootstrap a cluster with another while the rest is down', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const [a, b, c] = cluster.members
  if (a === undefined || b === undefined || c === undefined) return assert.fail('three members')
  await cluster.waitReady()
  // A member that is not ready yet may have taken part only in the founding, and have acknowledged
  // no write.
  await c.stop('SIGKILL')
  for (const name of ['acked-1', 'acked-2']) await create(a, name)
  await Promise.all([a.stop('SIGKILL'), b.stop('SIGKILL')])
  rmSync(data(b), { recursive: true })
  b.start()
  c.start()
  await bothReportLost(b, c)
  for (const member of [b, c]) {
    assert.equal(await member.isReady(), false)
    const { status } = await member.client.get(`${path}/acked-1?timeout=2s`)
    assert.ok(status >= 500, `${member.name} answers ${status}`)
    assert.notEqual(
      (await member.client.post(`${path}?timeout=2s`, { metadata: { name: 'second' } })).status,
      201,
    )
  }
  a.start()
  await Promise.all([a.waitReady(), c.waitReady()])
  for (const member of [a, c]) {
    for (const name of ['acked-1', 'acked-2']) {
      assert.equal((await member.client.get(`${path}/${name}`)).status, 200, `${member.name} has ${name}`)
    }
  }
  await until('the one that lost its directory ends', () => !b.running)
  assert.match(b.currentLog(), /orchctl member replace n2/)
})

void test('an old member that returns to a re-created cluster ends no other member', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const [a, b, c] = cluster.members
  if (a === undefined || b === undefined || c === undefined) return assert.fail('three members')
  await cluster.waitReady()
  await create(a, 'of-the-old-one')
  await Promise.all(cluster.members.map((member) => member.stop('SIGKILL')))
  const old = join(c.directory, 'old')
  copyData(data(c), old)
  for (const member of cluster.members) rmSync(data(member), { recursive: true })
  for (const member of cluster.members) member.start()
  await cluster.waitReady()
  await create(a, 'of-the-new-one')
  await c.stop('SIGKILL')
  rmSync(data(c), { recursive: true })
  copyData(old, data(c))
  c.start()
  const words =
    /belongs to cluster [0-9a-f]{32}, this member to cluster [0-9a-f]{32}, which was founded separately/
  await until(
    'all report the reason',
    () => cluster.members.every((member) => words.test(member.currentLog())),
    () => cluster.members.map((member) => member.logTail()).join('\n'),
  )
  for (const name of ['more-1', 'more-2']) await create(b, name)
  await Promise.all([a.waitReady(), b.waitReady()])
  assert.equal(await c.isReady(), false)
  assert.deepEqual(
    cluster.members.map(({ running }) => running),
    [true, true, true],
  )
  assert.equal((await a.client.get(`${path}/of-the-new-one`)).status, 200)
})

/** @returns the id that the next members are restored with */
async function restore(member: MemberProcess, file: string, id: string | null): Promise<string> {
  const config = ['--config', join(member.directory, 'config.yaml'), '-o', 'json']
  const ran = await orchctl(
    'snapshot',
    'restore',
    file,
    ...config,
    ...(id === null ? [] : ['--restore-id', id]),
  )
  assert.equal(ran.code, 0, ran.err)
  return String((JSON.parse(ran.out) as Readonly<Record<string, string>>)['restoreId'])
}

void test('a restored cluster is bootstrapped by all its members, and has no place for one that is restored again after it took part', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const [a, b, c] = cluster.members
  if (a === undefined || b === undefined || c === undefined) return assert.fail('three members')
  await cluster.waitReady()
  await create(a, 'saved')
  const file = join(cluster.directory, 'saved.snap')
  const saving = await orchctl('snapshot', 'save', file, '--kubeconfig', cluster.kubeconfig)
  assert.equal(saving.code, 0, saving.err)
  await Promise.all(cluster.members.map((member) => member.stop('SIGKILL')))
  for (const member of cluster.members) rmSync(data(member), { recursive: true })
  const id = await restore(a, file, null)
  for (const member of [b, c]) await restore(member, file, id)
  const again = async (): Promise<void> => {
    await b.stop('SIGKILL')
    rmSync(data(b), { recursive: true })
    await restore(b, file, id)
    b.start()
  }
  a.start()
  b.start()
  await until(
    'both report the members that they wait for',
    () =>
      [a, b].every(
        (member) => /waiting for some/.test(member.currentLog()) && /\["n3"\]/.test(member.currentLog()),
      ),
    () => `${a.logTail()}\n${b.logTail()}`,
  )
  assert.notEqual((await a.client.post(`${path}?timeout=2s`, { metadata: { name: 'early' } })).status, 201)
  // It has taken part in nothing yet, so it may be restored again.
  await again()
  c.start()
  await cluster.waitReady()
  assert.deepEqual([clusterIdOf(b), clusterIdOf(c)], [clusterIdOf(a), clusterIdOf(a)])
  await c.stop('SIGKILL')
  await create(a, 'acked')
  await a.stop('SIGKILL')
  await again()
  c.start()
  await bothReportLost(b, c)
  for (const member of [b, c]) {
    assert.equal(await member.isReady(), false)
    const { status } = await member.client.get(`${path}/acked?timeout=2s`)
    assert.ok(status >= 500, `${member.name} answers ${status}`)
  }
  a.start()
  await Promise.all([a.waitReady(), c.waitReady()])
  for (const name of ['saved', 'acked'])
    assert.equal((await c.client.get(`${path}/${name}`)).status, 200, name)
  await until('the one that was restored again ends', () => !b.running)
  assert.match(b.currentLog(), /orchctl member replace n2/)
})
