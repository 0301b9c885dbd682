/*
 * Goal: the shipped command measures a cluster of real processes: leader and follower, their cost,
 * and a failover; the cluster is healthy afterwards.
 * Method: a short run of `orchctl bench` on a cluster that `orchctl cluster up` made, and a run
 * that is interrupted.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseResults } from '../../bench/tool/report.ts'
import { OrchctlCluster } from '../support/drivers/orchctl-cluster.ts'
import { until } from '../support/tools/until.ts'

void test('a short run measures three members and their failovers, and leaves the cluster healthy', async (t) => {
  const cluster = await OrchctlCluster.up(t, 3)
  const what = ['--only', 'get,create,staleness,failover', '--clients', '4', '--quick']
  const { code, out, err } = await cluster.begin('bench', ...what, '--json', 'a.json').end
  assert.equal(code, 0, err)
  const { rows } = parseResults(readFileSync(join(cluster.directory, 'a.json'), 'utf8'), 'a.json')
  for (const label of ['get, linearizable, the leader', 'get, any, a follower', 'create, all members']) {
    const sample = rows.get(`${label}, 1 KB, 4 clients`)?.[0]
    assert.ok((sample?.perSecond ?? 0) > 0, `${label}: ${out}`)
    assert.equal(sample?.failed, 0, `${label}: ${out}`)
    assert.ok((sample?.serverCpuMs ?? 0) > 0 && (sample?.generatorCpuMs ?? 0) > 0, `${label}: ${out}`)
    assert.ok((sample?.memoryMiB ?? 0) > 10, label)
  }
  assert.equal(rows.get('staleness, linearizable, a follower, 4 clients')?.[0]?.staleMaxMs, 0, out)
  for (const label of ['leader killed (-9)', 'leader paused (SIGSTOP)', 'leader stopped (SIGTERM)']) {
    const sample = rows.get(label)?.[0] ?? assert.fail(`${label}: ${out}${err}`)
    assert.ok((sample.writeGapMs ?? 0) > 0 && (sample.readGapMs ?? 0) > 0, label)
  }
  assert.equal(cluster.run('cluster', 'status').code, 0, 'all members are back')
  const again = cluster.begin('bench', '--only', 'get', '--seconds', '60', '--json', 'b.json')
  await until('it warms up', () => again.noted().includes('warming up'), again.noted)
  again.child.kill('SIGINT')
  const ended = await again.end
  assert.equal(ended.code, 1, ended.err)
  assert.match(ended.err, /interrupted: ending and removing the namespaces/)
  assert.match(ended.out, /note: interrupted in round 1 of 3/)
  const left = cluster.run('bench', '--only', 'get', '--clients', '1', '--quick')
  assert.equal(left.code, 0, left.err)
})
