/*
 * Goal: a client that fills the storage gets an error with a remedy through kubectl; the cluster
 * stays ready and readable; deleting a whole namespace frees space without a restart, and a larger
 * quota takes effect at once.
 * Method: a real cluster with the smallest quota and the shortest history, kubectl and orchctl.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { KubectlResult } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { orchctlProgram as orchctl } from '../support/drivers/programs.ts'
import { until } from '../support/tools/until.ts'

const exec = promisify(execFile)

void test('a full quota refuses writes with the reason, and the deletion of a namespace ends the alarm without a restart', async (t) => {
  const kubectl = Kubectl.find()
  const cluster = await ProcessCluster.start({
    members: 3,
    config: { 'initial-storage-quota': '16Mi', 'initial-history-window': '1s' },
  })
  t.after(() => cluster.remove())
  const run = (...args: string[]): Promise<KubectlResult> => kubectl.run(cluster.kubeconfig, args)
  const ok = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args)
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const settings = async (...args: string[]): Promise<string> => {
    const words = [orchctl, 'settings', ...args, '--kubeconfig', cluster.kubeconfig]
    return (await exec(process.execPath, words)).stdout
  }
  const file = join(cluster.directory, 'megabyte')
  writeFileSync(file, 'x'.repeat(900_000))
  const create = (namespace: string, name: string): Promise<KubectlResult> =>
    run('-n', namespace, 'create', 'configmap', name, `--from-file=data=${file}`)
  const fill = async (namespace: string): Promise<string> => {
    for (let made = 0; made < 30; made++) {
      const { code, stderr } = await create(namespace, `big-${made}`)
      if (code !== 0) return stderr
    }
    return assert.fail('the quota is never met')
  }
  const untilSpace = async (name: string): Promise<void> => {
    let last = ''
    await until(
      'there is space',
      async () => {
        const { code, stderr } = await create('default', name)
        last = stderr
        return code === 0
      },
      () => last,
      500,
    )
  }

  await ok('create', 'namespace', 'heap')
  const refusal = await fill('heap')
  assert.match(
    refusal,
    /^error: failed to create configmap: configmaps "big-\d+" is forbidden: exceeded storage quota: 1\d\.\d MiB of 16\.0 MiB used, most of it, history included, by configmaps \(1\d\.\d MiB, \d\d objects\), .*, and in namespace heap by configmaps \(1\d\.\d MiB, 1\d objects\); delete objects and wait until their history expires \(1 s\), or raise the quota: orchctl settings set --storage-quota$/m,
  )
  const dry = await run('-n', 'heap', 'create', 'configmap', 'dry', '--from-literal=a=b', '--dry-run=server')
  assert.notEqual(dry.code, 0)
  assert.match(dry.stderr, /exceeded storage quota/)
  assert.match(
    await settings('get'),
    /storage quota\s+16Mi\s+--storage-quota\n[^]*, full: only writes that free space/,
  )
  for (const member of cluster.members) {
    // A member that lags behind reports the alarm later.
    let metrics = ''
    await until(
      `${member.name} knows that it is full`,
      async () => {
        metrics = (await member.client.get('/metrics')).text
        return /^orch_storage_alarm 1$/m.test(metrics)
      },
      () => metrics,
    )
    assert.match(metrics, /^orch_storage_quota_bytes 16777216$/m)
    assert.match(metrics, /^orch_storage_resource_bytes\{resource="configmaps"\} 1\d{7}$/m)
    // The member with a full quota still serves.
    await member.waitReady()
  }
  await ok('-n', 'heap', 'get', 'configmap', 'big-0')

  // The steps of a deletion still work: the namespace is marked, emptied, reported and finalized.
  await ok('delete', 'namespace', 'heap', '--timeout=100s')
  await untilSpace('first')

  await fill('default')
  assert.match(await settings('set', '--storage-quota', '64Mi'), /storage quota\s+64Mi/)
  assert.equal((await create('default', 'second')).code, 0, 'a larger quota counts at once')
  for (const member of cluster.members) {
    const reported = (words: string): number => member.currentLog().split(words).length - 1
    await until(
      `${member.name} has space again`,
      () => reported('the storage is below its quota again') >= 2,
      () => member.logTail(),
    )
    assert.equal(reported('the storage is below its quota again'), 2, `${member.name} logs each change once`)
    assert.equal(reported('the storage quota is used up'), 2)
  }
})
