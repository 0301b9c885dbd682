/*
 * Goal: a lock of a process that has ended is not honored, also when the parent of the process does
 * not collect its exit code, as in containers without an init process.
 * Method: real processes.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isProcessAlive } from '../../../../src/host/process-alive.ts'
import { until } from '../../../support/tools/until.ts'

void test('running processes are alive, and IDs of none are not', () => {
  assert.equal(isProcessAlive(process.pid), true)
  assert.equal(isProcessAlive(process.ppid), true)
  for (const pid of [0, -1, 1.5, 2 ** 31]) assert.equal(isProcessAlive(pid), false, `${pid}`)
})

void test('a process that has ended and whose exit code is not collected is not alive', async (t) => {
  // The shell becomes a program that never waits for its child.
  const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 600'])
  t.after(() => parent.kill('SIGKILL'))
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  const isZombie = (): boolean => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  await until('it has ended', () => Promise.resolve(isZombie()))
  assert.equal(isProcessAlive(pid), false)
  assert.equal(isProcessAlive(parent.pid ?? 0), true)
})
