/*
 * Goal: a member that lost its disk does not vote again under its name, so that nothing
 * acknowledged is lost.
 * Method: one member is killed while the other two acknowledge writes. Then one of those two loses
 * its data directory and restarts together with the outdated member; the other one restarts last.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const path = '/api/v1/namespaces/default/configmaps'

void test('a wiped member is rejected and logs the reason', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const [n1, n2, n3] = cluster.members
  if (n1 === undefined || n2 === undefined || n3 === undefined) return assert.fail('three members')
  await n3.stop('SIGKILL')
  await cluster.leader(n3)
  for (const name of ['acked-1', 'acked-2', 'acked-3']) {
    let last = ''
    await until(
      `${name} is there`,
      async () => {
        const { status, text } = await n1.client.post(path, { metadata: { name } })
        // The first try may have created the object although it was not acknowledged.
        const isThere = status === 201 || (last !== '' && status === 409)
        last = text
        return isThere
      },
      () => last,
    )
  }
  await Promise.all([n1.stop('SIGKILL'), n2.stop('SIGKILL')])
  rmSync(join(n2.directory, 'data'), { recursive: true })

  n3.start()
  n2.start()
  await until(
    'both sides report why there is no quorum',
    () =>
      /is recorded with another log/.test(n2.currentLog()) &&
      /is recorded with another log/.test(n3.currentLog()),
    () => `${n2.logTail()}\n${n3.logTail()}`,
  )
  assert.deepEqual([await n2.isReady(), await n3.isReady()], [false, false])
  assert.ok(n2.running, 'the refusal of one member is not that of a majority')

  n1.start()
  await until(
    'the wiped member ends, once the majority refuses it',
    () => !n2.running,
    () => n2.logTail(),
  )
  assert.match(
    n2.currentLog(),
    /have recorded another log for this member.*: orchctl member replace n2 NEW-NAME --peer-address /,
  )
  const fatal = n2
    .currentLog()
    .split('\n')
    .filter((line) => line.includes('have recorded another log for this member'))
  assert.equal(fatal.length, 1, fatal.join('\n'))
  await n1.waitReady()
  await n3.waitReady()
  for (const member of [n1, n3]) {
    for (const name of ['acked-1', 'acked-2', 'acked-3']) {
      assert.equal((await member.client.get(`${path}/${name}`)).status, 200, `${member.name} has ${name}`)
    }
  }
  n2.start()
  await until(
    'a healthy cluster rejects it, too',
    () => !n2.running,
    () => n2.logTail(),
  )
})
