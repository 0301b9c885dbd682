/*
 * Goal: `orchctl chaos` reverts pauses and partitions however it ends, and injects only faults for
 * which the cluster was made; `long/chaos` checks what clients see during all kinds of faults.
 * Method: the shipped commands on clusters of their own; runs are interrupted and killed during a
 * pause and during a partition; the state of processes is read from /proc.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { OrchctlCluster } from '../support/drivers/orchctl-cluster.ts'
import { until } from '../support/tools/until.ts'

void test('a chaos run that is killed or interrupted leaves no member stopped and no link cut', async (t) => {
  const cluster = await OrchctlCluster.up(t, 3, '--chaos')
  const states = (): readonly string[] =>
    ['n1', 'n2', 'n3'].map((name) => {
      const pid = readFileSync(join(cluster.directory, '.cluster', name, 'pid'), 'utf8').trim()
      return /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? ''
    })
  const isHealthy = (): boolean => !states().includes('T') && cluster.run('cluster', 'status').code === 0
  const ends = { pause: ['SIGKILL', 'SIGINT', 'SIGHUP'], partition: ['SIGKILL', 'SIGTERM'] } as const
  for (const kind of ['pause', 'partition'] as const) {
    for (const signal of ends[kind]) {
      const flags = ['--faults', kind, '--seed', '1', '--duration', '1h']
      const { child, end, noted } = cluster.begin('chaos', 'run', ...flags)
      await until(`a fault begins: ${kind}`, () => noted().includes(`: ${kind}, `), noted)
      // There are several pauses: a check that is too late for the first one sees the next.
      if (kind === 'pause') await until('a member is stopped', () => states().includes('T'), noted, 5)
      child.kill(signal)
      const { code, err } = await end
      if (signal !== 'SIGKILL') assert.match(err, /reverting all faults\n(.|\n)*all members are ready/)
      assert.equal(code, signal === 'SIGKILL' ? null : 1, err)
      await until(`all is well after ${kind}, ${signal}`, isHealthy, () => {
        return `${states().join(' ')}\n${cluster.run('cluster', 'status').out}`
      })
    }
  }
})

void test('a member that was added to a cluster for chaos has the fault hook', async (t) => {
  const cluster = await OrchctlCluster.up(t, 1, '--chaos')
  const added = cluster.run('cluster', 'add')
  assert.equal(added.code, 0, added.err)
  const { code, err } = cluster.run('chaos', 'run', '--duration', '12s', '--seed', '1')
  assert.equal(code, 0, err)
  assert.doesNotMatch(err, /fault hook/)
})

void test('a chaos run applies only the available faults, and needs a running cluster', async (t) => {
  const cluster = await OrchctlCluster.up(t, 1)
  const run = (...args: readonly string[]): string => {
    const { code, err } = cluster.run('chaos', 'run', '--duration', '4s', ...args)
    assert.notEqual(code, 0)
    return err
  }
  assert.match(run('--faults', 'slow-disk'), /slow-disk needs members with a fault hook: a cluster made by/)
  assert.match(
    run('--dir', 'elsewhere'),
    /there is no cluster in .*elsewhere: give --dir that of another one/,
  )
  const { code, err, out } = cluster.run('chaos', 'run', '--duration', '12s', '--seed', '1')
  assert.equal(code, 0, err)
  assert.match(err, /skipped: clock-skew needs/)
  assert.match(out, /n1: /)
  assert.match(cluster.run('cluster', 'up', '--chaos').err, /was made without --chaos/)
})
