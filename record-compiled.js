/*
 * Records the compiled form (V8's code cache) of the bundled programs and threads, from which
 * `runCachedScript` starts them. To do so it runs them with record-compiled-hook.js: new members
 * that make their own keys, `orchctl` while it creates a cluster of two members, and then one of
 * these members while it starts again. Members are recorded once they are ready: by then they have
 * called the functions that a start needs, without and with a configuration, data and a peer.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const hook = fileURLToPath(new URL('./record-compiled-hook.js', import.meta.url))
const waitMsMax = 60_000

/**
 * Writes the compiled form of each script next to it.
 *
 * @param bundle the directory that bundle.js wrote
 * @param scripts paths of the server's scripts in it
 * @throws Error when a program does not run
 */
export async function recordCompiled(bundle, scripts) {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-record-'))
  try {
    await recordAll(bundle, scripts, scratch)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function recordAll(bundle, scripts, scratch) {
  const port = await freePorts()
  const main = join(bundle, 'src/main.js')
  const alone = (...flags) => [main, ...flags, '--secure-port', `${port}`]
  const written = scripts.map((script) => join(bundle, `${script}.compiled`))
  const first = { port, args: alone('--data-dir', join(scratch, 'alone')), when: join(scratch, 'first') }
  await recordStart(written, first, [])
  // A single member that stores nothing runs without the raft thread and the log thread.
  const inMemory = { port, args: alone('--in-memory'), when: join(scratch, 'in-memory') }
  await recordStart([join(bundle, 'src/main.cjs.compiled')], inMemory, [])
  const directory = join(scratch, 'cluster')
  const commands = join(bundle, 'src/cli/main.js')
  const up = ['--dir', directory, '--nodes', '2', '--client-port', `${port}`, '--peer-port', `${port + 2}`]
  await succeeded(start(['--import', hook, commands, 'cluster', 'up', ...up]), 'orchctl cluster up')
  await succeeded(start([commands, 'cluster', 'down', '--dir', directory]), 'orchctl cluster down')
  const server = (name) => [main, '--config', join(directory, name, 'config.yaml')]
  const again = { port, args: server('n1'), when: join(scratch, 'again') }
  await recordStart(written, again, [server('n2')])
}

/**
 * Starts a server, and records it once it is ready. It runs from what was recorded before, so that
 * the compiled form contains the functions of all starts.
 *
 * @param when the file whose creation makes the server write what it has compiled
 * @param others arguments of servers that run at the same time
 */
async function recordStart(written, { port, args, when }, others) {
  const recorded = start(['--import', hook, ...args], { RECORD_WHEN: when })
  const servers = [recorded, ...others.map((one) => start(one))]
  try {
    await until(recorded, () => isReady(port))
    writeFileSync(when, '')
    const { mtimeMs } = statSync(when)
    const isWritten = (path) => existsSync(path) && statSync(path).mtimeMs >= mtimeMs
    await until(recorded, () => written.every(isWritten))
  } finally {
    for (const one of servers) {
      one.kill('SIGKILL')
      if (one.exitCode === null && one.signalCode === null) await once(one, 'exit')
    }
  }
}

function start(args, env = {}) {
  return spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Waits for the end of a process. @throws Error unless it exits with 0 */
async function succeeded(command, what) {
  const [code] = await once(command, 'exit')
  if (code !== 0) throw new Error(`${what} ended with ${code}`)
}

/** Waits until a condition holds. @throws Error if the server ends first, or after a minute */
async function until(server, isTrue) {
  const endMs = performance.now() + waitMsMax
  while (!(await isTrue())) {
    const end = server.exitCode ?? server.signalCode
    if (end !== null) throw new Error(`the server ended with ${end}`)
    if (performance.now() > endMs)
      throw new Error('the server was not ready, or recorded nothing, within a minute')
    await sleep(20)
  }
}

function isReady(port) {
  return new Promise((answer) => {
    const url = `https://127.0.0.1:${port}/readyz`
    get(url, { agent: false, rejectUnauthorized: false }, (response) => {
      response.resume()
      answer(response.statusCode === 200)
    }).on('error', () => answer(false))
  })
}

/** Returns the first of four free ports in a row: two for clients, two for peers. */
async function freePorts() {
  for (;;) {
    const first = await listening(0)
    const { port } = first.address()
    const others = await Promise.all([1, 2, 3].map((more) => listening(port + more)))
    const all = [first, ...others]
    await Promise.all(all.map((server) => server && once(server.close(), 'close')))
    if (all.every((server) => server !== null)) return port
  }
}

/** Returns a server that listens on a port; null: the port is in use or too high. */
async function listening(port) {
  if (port > 65_535) return null
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return server
  } catch {
    return null
  }
}
