/*
 * Goal: with --secure-port 0 a server takes a free port, which its log, its kubeconfig and its
 * member record name, and keeps it at each later start; if other members know its address, it exits
 * with an error.
 * Method: real processes that are alone, queried with the kubeconfig that they made.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord } from '../../base/record.ts'
import { call, readEndpoints } from '../../src/cli/member-client.ts'
import { serverProgram as server } from '../support/drivers/programs.ts'
import { patienceMs, until } from '../support/tools/until.ts'

class Alone {
  readonly log: string[] = []
  readonly errors: string[] = []
  readonly #child: ChildProcess
  readonly #ended: Promise<number | null>

  constructor(...more: readonly string[]) {
    const args = [server, '--bind-address=127.0.0.1', '--secure-port=0', ...more]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#ended = new Promise((resolve) => this.#child.on('close', (code) => resolve(code)))
    const { stdout, stderr } = this.#child
    assert.ok(stdout !== null && stderr !== null)
    createInterface(stdout).on('line', (line) => this.log.push(line))
    createInterface(stderr).on('line', (line) => this.errors.push(line))
  }

  /** Resolves with the URL and the kubeconfig that the log names. */
  async serves(): Promise<{ readonly url: string; readonly kubeconfig: string }> {
    const reported = (what: string): string | undefined =>
      this.log
        .map((line): unknown => JSON.parse(line))
        .filter(isRecord)
        .map((line) => line[what])
        .find((value) => typeof value === 'string')
    await until(
      'it serves',
      () => reported('url') !== undefined && reported('kubeconfig') !== undefined,
      () => [...this.log, ...this.errors].join('\n'),
    )
    return { url: reported('url') ?? '', kubeconfig: reported('kubeconfig') ?? '' }
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#ended
  }

  /** Returns the exit code and the standard error of a process that exits by itself. */
  async ends(): Promise<readonly [code: number | null, lines: readonly string[]]> {
    const code = await this.#ended
    return [code, this.errors]
  }
}

/** Returns the client address of the only member. */
async function recordedAddress(kubeconfig: string): Promise<unknown> {
  const [endpoint] = readEndpoints(kubeconfig)
  assert.ok(endpoint)
  for (const endMs = performance.now() + patienceMs; performance.now() < endMs;) {
    const reply = await call(endpoint, { method: 'GET', path: '/cluster/v1/status' }, 5_000)
    if (reply?.status === 200) {
      const status: unknown = JSON.parse(reply.body)
      const members = isRecord(status) ? status['members'] : null
      const member: unknown = Array.isArray(members) ? members[0] : null
      if (isRecord(member)) return member['clientAddress']
    }
    await sleep(50)
  }
  return assert.fail('it answers')
}

void test('a server with port 0 reports its port everywhere and keeps it after a restart', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-port-'))
  const data = `--data-dir=${join(scratch, 'data')}`
  try {
    const urls: string[] = []
    for (let start = 0; start < 2; start++) {
      const member = new Alone(data)
      try {
        const { url, kubeconfig } = await member.serves()
        urls.push(url)
        assert.match(url, /^https:\/\/127\.0\.0\.1:[1-9]\d*$/)
        assert.equal(readEndpoints(kubeconfig)[0]?.url, url)
        assert.equal(await recordedAddress(kubeconfig), url.replace('https://', ''))
      } finally {
        await member.stop()
      }
    }
    assert.equal(urls[0], urls[1])

    const path = join(scratch, 'data', 'client-port')
    writeFileSync(path, `${readFileSync(path, 'utf8').trim()}x`)
    const [code, lines] = await new Alone(data).ends()
    assert.deepEqual([code, lines.length], [1, 1], lines.join('\n'))
    assert.match(lines[0] ?? '', /client-port is damaged: write into it the port/)

    rmSync(path)
    const [known, words] = await new Alone(data).ends()
    assert.deepEqual([known, words.length], [2, 1], words.join('\n'))
    assert.match(words[0] ?? '', /the cluster knows this member by the port it had before: give that one$/)
  } finally {
    rmSync(scratch, { recursive: true })
  }
})

void test('an in-memory server listens on a free port', async () => {
  const member = new Alone('--in-memory')
  try {
    const { url, kubeconfig } = await member.serves()
    assert.equal(readEndpoints(kubeconfig)[0]?.url, url)
    assert.equal(await recordedAddress(kubeconfig), url.replace('https://', ''))
  } finally {
    await member.stop()
  }
})

void test('port 0 is refused with a one-line error when other members know the address', async () => {
  const refused = async (...more: readonly string[]): Promise<string> => {
    const [code, lines] = await new Alone('--data-dir=/nowhere', ...more).ends()
    assert.deepEqual([code, lines.length], [2, 1], lines.join('\n'))
    return lines[0] ?? ''
  }
  const fixed = /^orch-apiserver: --secure-port 0 takes any free port, and .*: give a fixed --secure-port$/
  assert.match(await refused('--advertise-address=h:1'), fixed)
  assert.match(await refused('--initial-members=n1=h:1/h:2'), fixed)
})
