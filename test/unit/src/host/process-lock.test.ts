/*
 * Goal: the server and the commands that write to a data directory exclude each other, on one host
 * and among hosts.
 * Method: the real lock over a real directory that has another host's lock file.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { DirectoryTaken } from '../../../../src/host/directory-lock.ts'
import { beatMs } from '../../../../src/host/host-lock.ts'
import { lockForProcess } from '../../../../src/host/process-lock.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { until } from '../../../support/tools/until.ts'

void test('a directory that a process of another host uses is refused, and nothing is held afterwards', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-process-lock-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const clock = new ManualClock()
  const options = {
    ...{ pid: 4242, clock, random: new SeededRandom(1), host: { name: 'here', bootId: 'boot-here' } },
    isShared: () => true,
    onTakenOver: () => assert.fail('it is in use'),
    onLost: () => assert.fail('it was never taken'),
  }
  const file = join(directory, 'lock.host')
  const beat = (count: number): void => writeFileSync(file, `there boot-there there ${count}\n`)
  beat(1)
  const refused = assert.rejects(lockForProcess(directory, options), (cause: unknown) => {
    assert.ok(cause instanceof DirectoryTaken)
    assert.match(cause.message, /in use by a process on host there: stop it/)
    return true
  })
  await until('it watches the other host', () => clock.pending > 0)
  beat(2)
  await clock.advance(beatMs)
  await refused
  assert.equal(readFileSync(file, 'utf8'), 'there boot-there there 2\n')
  rmSync(file)
  const lock = await lockForProcess(directory, options)
  await assert.rejects(lockForProcess(directory, options), /in use by process 4242/)
  lock.release()
  assert.equal(existsSync(file), false)
})
