/*
 * Goal: a cluster that lost everything but a snapshot is restored as a new incarnation: with the
 * content at the time of the snapshot, with higher versions than any client may know, and refusing
 * members of the old incarnation.
 * Method: three real servers, writers and an informer. A snapshot is saved from a follower, all are
 * killed, their directories moved away, restored and started again, twice; then a member returns
 * with its old directory.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiClient, Reply } from '../support/drivers/api-client.ts'
import { GapMeter, Writer, versionOf } from '../support/runs/cluster-traffic.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { RelistingInformer } from '../support/drivers/relisting-informer.ts'
import { patienceMs, until } from '../support/tools/until.ts'

const maps = '/api/v1/namespaces/work/configmaps'

async function restored(cluster: ProcessCluster, file: string): Promise<readonly string[]> {
  const digests: string[] = []
  let id: readonly string[] = []
  for (const member of cluster.members) {
    const config = join(member.directory, 'config.yaml')
    const ran = await orchctl('snapshot', 'restore', file, '--config', config, '-o', 'json', ...id)
    assert.equal(ran.code, 0, ran.err)
    const given = JSON.parse(ran.out) as Readonly<Record<string, string>>
    digests.push(String(given['digest']))
    id = ['--restore-id', String(given['restoreId'])]
  }
  return digests
}

type Content = ReadonlyMap<string, string>

async function contentOf(
  client: ApiClient,
): Promise<{ readonly content: Content; readonly revision: number }> {
  const reply = await client.get(maps)
  assert.equal(reply.status, 200, reply.text)
  const { items } = JSON.parse(reply.text) as {
    readonly items: readonly {
      readonly metadata: Readonly<Record<string, unknown>>
      readonly data: unknown
    }[]
  }
  const content = items.map(({ metadata, data }) => {
    const { name, uid, creationTimestamp } = metadata
    return [String(name), JSON.stringify([uid, creationTimestamp, data])] as const
  })
  return { content: new Map(content), revision: Number(versionOf(reply.text)) }
}

/** Waits until the writers created `count` more objects. */
async function written(writers: readonly Writer[], count: number): Promise<void> {
  const created = (): number => writers.reduce((sum, { record }) => sum + record.created.size, 0)
  const enough = created() + count
  await until(
    `${count} objects more are made`,
    () => created() >= enough,
    () => `${enough - created()} are missing`,
  )
}

async function kill(members: readonly MemberProcess[]): Promise<void> {
  await Promise.all(members.map((member) => member.stop('SIGKILL')))
}

void test('after each of two restores of one snapshot informers get 410 and recover', async (t) => {
  const cluster = await ProcessCluster.start()
  const scratch = mkdtempSync(join(tmpdir(), 'orch-restore-'))
  const clients = cluster.members.map(({ client }) => client)
  const [client] = clients as [ApiClient]
  const informers: RelistingInformer[] = []
  const writers: Writer[] = []
  t.after(async () => {
    for (const informer of informers) await informer.stop()
    for (const writer of writers) await writer.stop()
    await cluster.remove()
    rmSync(scratch, { recursive: true, force: true })
  })
  assert.equal((await client.post('/api/v1/namespaces', { metadata: { name: 'work' } })).status, 201)
  const window = ['--history-window', '1h', '--kubeconfig', cluster.kubeconfig]
  assert.equal((await orchctl('settings', 'set', ...window)).code, 0)
  const once = async (at: ApiClient, key: string): Promise<Reply> => {
    const object = { apiVersion: 'v1', kind: 'Secret', metadata: { generateName: 'once-' } }
    const headers = { 'idempotency-key': key }
    return at.post('/api/v1/namespaces/work/secrets', object, { headers })
  }
  const uidOf = ({ text }: Reply): string =>
    (JSON.parse(text) as { readonly metadata: { readonly uid: string } }).metadata.uid
  const kept = await once(client, 'kept')
  const changed = await once(client, 'changed')
  assert.deepEqual([kept.status, changed.status], [201, 201])
  const { name } = (JSON.parse(changed.text) as { readonly metadata: { readonly name: string } }).metadata
  const patch = { metadata: { labels: { a: 'b' } } }
  const patched = await client.patch(`/api/v1/namespaces/work/secrets/${name}`, patch)
  assert.equal(patched.status, 200, patched.text)
  const write = (id: string): void => {
    for (let at = 0; at < 3; at++) {
      const gap = new GapMeter()
      writers.push(new Writer({ id: `${id}${at}`, clients, namespace: 'work', first: at, gap }))
    }
  }
  write('a')
  informers.push(new RelistingInformer(clients, maps))
  await written(writers, 12)
  const leader = await cluster.leader()
  const follower = cluster.members.find((member) => member !== leader)
  assert.ok(follower)
  const file = join(scratch, 'b.snap')
  const reported: string[] = ['--kubeconfig', cluster.kubeconfig, '--endpoint', follower.name, '-o', 'json']
  const saving = await orchctl('snapshot', 'save', file, ...reported)
  assert.equal(saving.code, 0, saving.err)
  const { revision: savedAt } = JSON.parse(saving.out) as { readonly revision: number }
  await written(writers, 20)
  for (const writer of writers.splice(0)) await writer.stop()
  const exact = await client.get(`${maps}?resourceVersion=${savedAt}&resourceVersionMatch=Exact`)
  assert.equal(exact.status, 200, exact.text)
  const expected = new Map(
    (JSON.parse(exact.text) as { items: { metadata: Record<string, unknown>; data: unknown }[] }).items.map(
      ({ metadata, data }) => [
        String(metadata['name']),
        JSON.stringify([metadata['uid'], metadata['creationTimestamp'], data]),
      ],
    ),
  )
  let before = await contentOf(client)
  assert.ok(before.content.size > expected.size && expected.size > 10)
  const page = JSON.parse((await client.get(`${maps}?limit=2`)).text) as { metadata: { continue: string } }
  const one = JSON.parse((await client.get(`${maps}/counter-a0`)).text) as object

  for (const life of [1, 2]) {
    await kill(cluster.members)
    for (const { directory, name } of cluster.members)
      renameSync(join(directory, 'data'), join(scratch, `${name}-before-${life}`))
    const goneBefore = informers.map(({ gone }) => gone)
    const digests = await restored(cluster, file)
    assert.equal(new Set(digests).size, 1, digests.join(' '))
    for (const member of cluster.members) member.start()
    await cluster.waitReady()
    for (const at of clients) {
      const now = await contentOf(at)
      assert.deepEqual(now.content, expected)
      assert.ok(now.revision > before.revision, `${now.revision} is not above ${before.revision}`)
    }
    for (const old of [savedAt, before.revision]) {
      const list = await client.get(`${maps}?resourceVersion=${old}&resourceVersionMatch=Exact`)
      assert.equal(list.status, 410, list.text)
      const watch = client.watch(`${maps}?watch=1&resourceVersion=${old}`, () => undefined)
      assert.equal((await watch.ended).status, 410)
    }
    const next = await client.get(`${maps}?limit=2&continue=${page.metadata.continue}`)
    assert.equal(next.status, 410, next.text)
    const stale = await client.put(`${maps}/counter-a0`, one)
    assert.equal(stale.status, 409, stale.text)
    // No current version was in use before.
    const listed = JSON.parse((await client.get(maps)).text) as {
      items: { metadata: { resourceVersion: string } }[]
    }
    for (const { metadata } of listed.items) assert.ok(Number(metadata.resourceVersion) > before.revision)
    for (const at of clients) {
      const again = await once(at, 'kept')
      assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true'], again.text)
      assert.equal(uidOf(again), uidOf(kept))
      assert.equal((await once(at, 'changed')).status, 410, 'its first version is not in the snapshot')
    }
    write(`life${life}-`)
    await written(writers, 10)
    for (const writer of writers.splice(0)) await writer.stop()
    before = await contentOf(client)
    assert.ok(before.content.size > expected.size)
    await caughtUp(informers, client)
    for (const [at, { gone }] of informers.entries())
      assert.equal(gone, (goneBefore[at] ?? 0) + 1, 'one new list for each incarnation')
    informers.push(new RelistingInformer(clients, maps))
    await caughtUp(informers, client)
  }

  const [, , third] = cluster.members
  assert.ok(third)
  await kill([third])
  renameSync(join(third.directory, 'data'), join(scratch, 'n3-of-now'))
  renameSync(join(scratch, 'n3-before-2'), join(third.directory, 'data'))
  third.start()
  const refusal = /belongs to cluster \\?"test@\d{8}T\d{6}Z(-[0-9a-f]{12}){2}\\?", not \\?"test@/
  await until(
    'it reports the reason',
    () => refusal.test(third.currentLog()),
    () => third.logTail(),
  )
  assert.equal(await third.isReady(), false)
  assert.equal((await clients[0]?.get(maps))?.status, 200)
})

async function caughtUp(informers: readonly RelistingInformer[], client: ApiClient): Promise<void> {
  for (const endMs = performance.now() + patienceMs; ;) {
    const { items } = JSON.parse((await client.get(maps)).text) as {
      items: { metadata: { name: string; resourceVersion: string }; data: unknown }[]
    }
    const truth = new Map(
      items.map(({ metadata, data }) => [
        metadata.name,
        { resourceVersion: metadata.resourceVersion, data: JSON.stringify(data ?? null) },
      ]),
    )
    try {
      for (const { objects } of informers) assert.deepEqual(objects, truth)
      return
    } catch (cause) {
      if (performance.now() > endMs) throw cause
      await sleep(50)
    }
  }
}
