/*
 * Goal: a member that began with another list of members has no part in the cluster, is told why in one line that names
 * the flag, and belongs once it begins with the right one.
 * Method: three real members, the list of one of them wrong.
 */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import { ProcessCluster } from '../support/process-cluster.ts'
import { until } from '../support/until.ts'

void test('a list of members that differs is noticed', async (t) => {
  const cluster = await ProcessCluster.prepare({ members: 3 })
  t.after(() => cluster.remove())
  const wrong = cluster.member('n3')
  const path = join(wrong.directory, 'config.yaml')
  const right = readFileSync(path, 'utf8')
  const config = parse(right) as { readonly 'initial-members': readonly object[] }
  const fourth = { name: 'n4', 'peer-address': '127.0.0.1:1', 'client-address': '127.0.0.1:2' }
  writeFileSync(path, stringify({ ...config, 'initial-members': [...config['initial-members'], fourth] }))
  for (const member of cluster.members) member.start()
  const others = cluster.members.filter((member) => member !== wrong)
  await Promise.all(others.map((member) => member.waitReady()))

  const words =
    /began with another list of members than this one: give all the same --initial-members, and a new --data-dir/
  const log = (name: string): string =>
    readFileSync(join(cluster.member(name).directory, 'server.log'), 'utf8')
  await until(
    'both sides say so',
    () => words.test(log('n3')) && words.test(log('n1')),
    () => `${wrong.logTail()}\n${cluster.member('n1').logTail()}`,
  )
  assert.match(log('n3'), words)
  assert.match(log('n1'), new RegExp(`member .{0,3}n3.{0,3} ${words.source}`))
  assert.equal(await wrong.isReady(), false)

  assert.equal(await wrong.stop(), 0)
  writeFileSync(path, right)
  rmSync(join(wrong.directory, 'data'), { recursive: true })
  wrong.start()
  await cluster.waitReady()
})
