/*
 * Goal: CPU time of the generator and of the servers is measured separately, over all threads.
 * Method: another process and a thread of this one, each of which computes for a known CPU time.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Cost } from '../../../bench/tool/cost.ts'
import { systemClock } from '../../../fixtures/system.ts'

/** Code that computes for this CPU time. */
const burning = (ms: number): string =>
  `const before = process.cpuUsage(); const spent = () => { const { user, system } = process.cpuUsage(before); return (user + system) / 1000 };
   while (spent() < ${ms});`

void test('CPU time of the servers and of the generator is measured separately', async (t) => {
  // Waits for input, computes for 400 ms on a second thread, and prints `done`.
  const thread = `const { Worker } = require('node:worker_threads')
    console.log('here')
    process.stdin.once('data', () => new Worker(\`${burning(400)}\`, { eval: true }).once('exit', () => console.log('done')))`
  const server = spawn(process.execPath, ['-e', thread], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => server.kill('SIGKILL'))
  await once(server.stdout, 'data')
  const before = process.cpuUsage()
  const cost = new Cost(systemClock, [server.pid ?? 0])
  server.stdin.write('go')
  await once(server.stdout, 'data')
  const theirs = cost.sample(10)
  const { user, system } = process.cpuUsage(before)
  assert.ok((theirs.serverCpuMs ?? 0) >= 38, `${theirs.serverCpuMs}: the thread of the server counts`)
  assert.ok((theirs.memoryMiB ?? 0) > 10)
  const own = new Cost(systemClock, [server.pid ?? 0])
  await once(new Worker(burning(400), { eval: true }), 'exit')
  const ours = own.sample(10)
  assert.ok((ours.generatorCpuMs ?? 0) >= 40, `${ours.generatorCpuMs}: the thread of the generator counts`)
  assert.ok(
    (ours.serverCpuMs ?? 0) < 10,
    `${ours.serverCpuMs}: the thread of the generator does not count for the server`,
  )
  // Other test files of this process may compute at the same time.
  const most = (user + system) / 1000 / 10
  assert.ok(
    (theirs.generatorCpuMs ?? Infinity) <= most,
    `${theirs.generatorCpuMs}: the thread of the server does not count for the generator`,
  )
})

void test('the CPU time of remote or ended servers is undefined', () => {
  const cost = new Cost(systemClock, [])
  assert.equal(cost.sample(10).serverCpuMs, undefined)
  assert.equal(new Cost(systemClock, [2 ** 22 + 1]).sample(10).serverCpuMs, undefined)
})
