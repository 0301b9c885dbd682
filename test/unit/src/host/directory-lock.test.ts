/*
 * Goal: a data directory has one user at a time, whatever separates two processes that open it.
 * Method: the real lock, in this process, in others (killed, or in a network namespace of their own
 * where the machine allows one), and as on a system without abstract sockets.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { DirectoryTaken, lockDirectory } from '../../../../src/host/directory-lock.ts'

const module = new URL('../../../../src/host/directory-lock.js', import.meta.url).href

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), 'orch-lock-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

type End = { readonly status: number | null; readonly signal: string | null; readonly stdout: string }

/** Runs a process that locks and is killed, or prints why it was refused and exits with 3. */
function otherProcess(directory: string, platform: string, prefix: readonly string[] = []): End {
  const script = `
    import { lockDirectory } from ${JSON.stringify(module)}
    try {
      await lockDirectory(${JSON.stringify(directory)}, process.pid, ${JSON.stringify(platform)})
      process.kill(process.pid, 'SIGKILL')
    } catch (cause) {
      console.log(cause.message)
      process.exit(3)
    }`
  const [program = '', ...args] = [...prefix, process.execPath, '--input-type=module', '-e', script]
  return spawnSync(program, args, { encoding: 'utf8' })
}

for (const platform of ['linux', 'darwin'] as const) {
  void test(`as on ${platform}: one process at a time, and no lock remains after its holder was killed`, async (t) => {
    const directory = folder(t)
    const lock = await lockDirectory(directory, process.pid, platform)
    await assert.rejects(lockDirectory(directory, process.pid, platform), DirectoryTaken)
    const refused = otherProcess(directory, platform)
    assert.equal(refused.status, 3, refused.stdout)
    assert.match(refused.stdout, new RegExp(`^data directory .* in use by process ${process.pid}: .*\n$`))
    lock.release()
    lock.release()
    for (let round = 0; round < 2; round++) {
      const killed = otherProcess(directory, platform)
      assert.equal(killed.signal, 'SIGKILL', killed.stdout)
    }
    assert.ok(existsSync(join(directory, 'lock.sock')), 'a killed process leaves its socket')
    const again = await lockDirectory(directory, process.pid, platform)
    again.release()
    assert.ok(!existsSync(join(directory, 'lock.sock')))
  })
}

void test('another path to the same directory is the same directory, at any depth', async (t) => {
  const root = folder(t)
  const deep = join(root, ...Array.from({ length: 8 }, () => 'a'.repeat(40)))
  mkdirSync(deep, { recursive: true })
  symlinkSync(deep, join(root, 'link'))
  const lock = await lockDirectory(deep, 4711)
  await assert.rejects(
    lockDirectory(join(root, 'link'), 4712),
    /in use by process 4711: stop it, or give another directory$/,
  )
  lock.release()
  const again = await lockDirectory(join(root, 'link'), 4712)
  again.release()
})

void test('a refused lock does not disturb the holder, and locks of two directories are independent', async (t) => {
  const [one, other] = [folder(t), folder(t)]
  const lock = await lockDirectory(one, 1)
  const lockOther = await lockDirectory(other, 2)
  for (let round = 0; round < 3; round++) await assert.rejects(lockDirectory(one, 3), DirectoryTaken)
  assert.equal(otherProcess(one, 'linux').status, 3)
  lock.release()
  lockOther.release()
})

const ownNetwork = ['unshare', '-n']
const canUnshare = spawnSync('unshare', ['-n', 'true']).status === 0

void test('a process in another network namespace is refused too', async (t) => {
  if (!canUnshare) {
    t.skip('this user may not create a network namespace')
    return
  }
  const directory = folder(t)
  const lock = await lockDirectory(directory, process.pid)
  const refused = otherProcess(directory, 'linux', ownNetwork)
  assert.equal(refused.status, 3, refused.stdout)
  lock.release()
  assert.equal(otherProcess(directory, 'linux', ownNetwork).signal, 'SIGKILL')
})
