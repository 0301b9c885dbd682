/*
 * Goal: the controllers of a restarted member know the objects that were stored before.
 * Method: one whole member in this process with data on disk, stopped and started again.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { AccessServer } from '../support/fixtures/access-server.ts'
import { until } from '../support/tools/until.ts'

const namespace = '/api/v1/namespaces/default'
const claims = `${namespace}/persistentvolumeclaims`

const claimOf = (name: string): object => ({
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
})

const pod = {
  metadata: { name: 'user' },
  spec: {
    nodeName: 'node',
    containers: [{ name: 'c', image: 'image' }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'used' } }],
  },
}

void test('a claim that a Pod uses is kept after a restart until the Pod is deleted', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-restarted-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const flags = { 'in-memory': 'false', 'data-dir': directory }
  await t.test('a Pod and claims are stored', async (first) => {
    const server = await AccessServer.start(first, flags)
    const store = async (path: string, body: object): Promise<void> => {
      const reply = await server.admin(path, { method: 'POST', body })
      assert.equal(reply.status, 201, reply.text)
    }
    // Pods of a Node that does not exist are deleted.
    await store('/api/v1/nodes', { metadata: { name: 'node' } })
    for (const name of ['used', 'unused']) await store(claims, claimOf(name))
    await store(`${namespace}/pods`, pod)
  })
  await t.test('only the unused claim can be deleted', async (second) => {
    const server = await AccessServer.start(second, flags, {}, 2)
    for (const name of ['used', 'unused']) {
      const reply = await server.admin(`${claims}/${name}`, { method: 'DELETE' })
      assert.equal(reply.status, 202, reply.text)
    }
    const isGone = async (name: string): Promise<boolean> =>
      (await server.admin(`${claims}/${name}`)).status === 404
    await until('the unused claim is deleted', () => isGone('unused'))
    assert.equal(await isGone('used'), false)
    await server.admin(`${namespace}/pods/user?gracePeriodSeconds=0`, { method: 'DELETE' })
    await until('the claim is deleted after the Pod', () => isGone('used'))
  })
})
