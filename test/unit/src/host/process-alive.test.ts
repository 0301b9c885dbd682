/*
 * Goal: a lock of a process that has ended is not honored, also when the parent of the process does
 * not collect its exit code, as in containers without an init process.
 * Method: real processes.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { isProcessAlive } from '../../../../src/host/process-alive.ts'
import { until } from '../../../support/tools/until.ts'

void test('running processes are alive, and IDs of none are not', () => {
  assert.equal(isProcessAlive(process.pid), true)
  assert.equal(isProcessAlive(process.ppid), true)
  for (const pid of [0, -1, 1.5, 2 ** 31]) assert.equal(isProcessAlive(pid), false, `${pid}`)
})

void test('a process that has ended and whose exit code is not collected is not alive', async (t) => {
  // The shell becomes a program that never waits for its child. The child ends only after that,
  // because the shell could collect its exit code.
  const parent = spawn('sh', ['-c', 'cat <&3 >/dev/null & echo $!; exec sleep 600 3<&-'], {
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  })
  t.after(() => parent.kill('SIGKILL'))
  const [line] = (await once(parent.stdout ?? assert.fail('it has no output'), 'data')) as [Buffer]
  const pid = Number(line.toString())
  const becameProgram = (): boolean => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n'
  await until('the shell became the program', () => Promise.resolve(becameProgram()))
  assert.equal(isProcessAlive(pid), true)
  const input = parent.stdio[3]
  assert.ok(input instanceof Writable)
  input.end()
  const isZombie = (): boolean => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  await until('it has ended', () => Promise.resolve(isZombie()))
  assert.equal(isProcessAlive(pid), false)
  assert.equal(isProcessAlive(parent.pid ?? 0), true)
})
