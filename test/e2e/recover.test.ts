/*
 * Goal: a cluster that lost two of its three members for ever continues from the third with all of
 * its data; clients with old versions get 410 and recover; returning old members are rejected.
 * Method: three real servers, writers and an informer; two are killed and their directories moved
 * away, the third is recovered and started; then one of the two comes back with its old directory.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { GapMeter, Writer, versionOf } from '../support/runs/cluster-traffic.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { RelistingInformer } from '../support/drivers/relisting-informer.ts'
import { until } from '../support/tools/until.ts'

const maps = '/api/v1/namespaces/work/configmaps'

void test('after the loss of two of three members the third recovers alone, and the old ones are rejected', async (t) => {
  const cluster = await ProcessCluster.start()
  const scratch = mkdtempSync(join(tmpdir(), 'orch-recover-'))
  const [n1, n2, n3] = cluster.members
  assert.ok(n1 && n2 && n3)
  const clients = cluster.members.map(({ client }) => client)
  const writers = [0, 1].map((at) => ({ id: `w${at}`, first: at }))
  assert.equal((await n1.client.post('/api/v1/namespaces', { metadata: { name: 'work' } })).status, 201)
  const writing = writers.map(
    (one) => new Writer({ ...one, clients, namespace: 'work', gap: new GapMeter() }),
  )
  const informer = new RelistingInformer([n1.client], maps)
  t.after(async () => {
    await informer.stop()
    for (const writer of writing) await writer.stop()
    await cluster.remove()
    rmSync(scratch, { recursive: true, force: true })
  })
  const created = (): string[] => writing.flatMap(({ record }) => [...record.created.keys()])
  await until(
    '15 objects are made',
    () => created().length >= 15,
    () => `${created().length}`,
  )
  for (const writer of writing) await writer.stop()
  // Waits until the survivor has all of it, so that nothing acknowledged is lost with the others.
  const last = versionOf((await n1.client.get(maps)).text)

  const data = ({ directory }: { readonly directory: string }): string => join(directory, 'data')
  const words = ['recover', '--data-dir', data(n1)]
  assert.match((await orchctl(...words, '--yes')).err, /data directory .* is in use by process \d+: stop it/)
  await n1.stop('SIGKILL')
  assert.match((await orchctl(...words, '--yes')).err, /member n[23] answers at 127\.0\.0\.1:\d+: stop it/)
  for (const lost of [n2, n3]) {
    await lost.stop('SIGKILL')
    renameSync(data(lost), join(scratch, lost.name))
  }
  const requested = await orchctl(...words)
  assert.equal(requested.code, 1)
  assert.match(requested.out, /best: n1/)
  const done = await orchctl(...words, '--yes')
  assert.equal(done.code, 0, done.err)

  const goneBefore = informer.gone
  n1.start()
  await n1.waitReady()
  const listed = await n1.client.get(maps)
  const names = (JSON.parse(listed.text) as { items: { metadata: { name: string } }[] }).items
  for (const name of created())
    assert.ok(
      names.some(({ metadata }) => metadata.name === name),
      name,
    )
  assert.ok(Number(versionOf(listed.text)) > Number(last))
  const old = await n1.client.get(`${maps}?resourceVersion=${last}&resourceVersionMatch=Exact`)
  assert.equal(old.status, 410, old.text)
  const more = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'after' } }
  assert.equal((await n1.client.post(maps, more)).status, 201)
  await until(
    'the informer has all',
    () => informer.objects.has('after') && informer.objects.size === names.length + 1,
    () => `${informer.objects.size} of ${names.length + 1}`,
  )
  assert.equal(informer.gone, goneBefore + 1)

  renameSync(join(scratch, n3.name), data(n3))
  n3.start()
  const refusal = /belongs to cluster \\?"test\\?", not \\?"test@\d{8}T\d{6}Z(-[0-9a-f]{12}){2}\\?"/
  await until(
    'it reports the reason',
    () => refusal.test(n3.currentLog()),
    () => n3.logTail(),
  )
  assert.equal(await n3.isReady(), false)
  assert.equal((await n1.status()).leader?.name, 'n1')
  assert.equal((await n1.client.post(maps, { ...more, metadata: { name: 'later' } })).status, 201)
})
