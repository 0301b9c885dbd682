/*
 * Records the compiled form of the bundled programs, with which `runCachedScript` starts them: runs
 * each of them once with record-compiled-hook.js. The server runs as a single member until it is
 * ready; the functions that a start calls are compiled by then.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const hook = fileURLToPath(new URL('./record-compiled-hook.js', import.meta.url))
const waitMsMax = 60_000

/** @param bundle the directory that bundle.js wrote @throws Error when a program does not run */
export async function recordCompiled(bundle) {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-record-'))
  try {
    await Promise.all([recordCommand(bundle), recordServer(bundle, scratch)])
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function recordCommand(bundle) {
  const program = started(join(bundle, 'src/cli/main.js'), ['--help'], {})
  const [code] = await once(program, 'exit')
  if (code !== 0) throw new Error(`orchctl --help ended with ${code}`)
}

async function recordServer(bundle, scratch) {
  const when = join(scratch, 'now')
  const program = join(bundle, 'src/main.js')
  const written = join(bundle, 'src/main.cjs.compiled')
  const port = await freePort()
  const server = started(
    program,
    ['--data-dir', join(scratch, 'data'), '--bind-address', '127.0.0.1', '--secure-port', `${port}`],
    { RECORD_WHEN: when },
  )
  const endMs = performance.now() + waitMsMax
  const until = async (isTrue) => {
    while (!(await isTrue())) {
      if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`)
      if (performance.now() > endMs) throw new Error('the server is not ready after a minute')
      await sleep(20)
    }
  }
  try {
    await until(() => isReady(port))
    writeFileSync(when, '')
    await until(() => existsSync(written))
  } finally {
    server.kill()
    if (server.exitCode === null) await once(server, 'exit')
  }
}

function started(program, words, env) {
  return spawn(process.execPath, ['--import', hook, program, ...words], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
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

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
