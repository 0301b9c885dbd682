/*
 * Goal: members are listed in the order that people expect.
 * Method: the whole command line in this process, against a small HTTP server as the only member
 * that responds.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { cli } from '../../../../src/cli/cli.ts'
import type { Terminal } from '../../../../src/cli/terminal.ts'

const names = ['n10', 'n2', 'n1', 'a-3', 'n20', 'a-12']
const inOrder = ['a-3', 'a-12', 'n1', 'n2', 'n10', 'n20']

void test('member list sorts n2 before n10, in the table, in JSON and in the errors about members that do not respond', async (t) => {
  const members = names.map((name, at) => ({
    ...{ id: String(at), name, role: 'voter', wantedRole: 'voter' },
  }))
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ name: 'n1', leader: { name: 'n1' }, ready: true, members })),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-list-'))
  t.after(() => {
    server.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const kubeconfig = join(directory, 'kubeconfig')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const contexts = [{ name: 'n1', context: { cluster: 'n1', user: 'u' } }]
  const file = {
    clusters: [{ name: 'n1', cluster: { server: url } }],
    contexts,
    users: [{ name: 'u', user: {} }],
  }
  writeFileSync(kubeconfig, JSON.stringify(file))
  const [printed, noted]: [string[], string[]] = [[], []]
  const terminal: Terminal = {
    ...{ clock: systemClock, random: new SeededRandom(1), program: 'orchctl' },
    print: (line) => void printed.push(...line.split('\n')),
    note: (line) => void noted.push(line),
  }
  const list = ['member', 'list', '--kubeconfig', kubeconfig]
  assert.equal(await cli(list, terminal), 0, noted.join())
  assert.deepEqual(
    printed.slice(1).map((line) => line.split(' ')[0]),
    inOrder,
  )
  const firstWords = noted.map((line) => line.split(' ')[0])
  assert.deepEqual(
    firstWords,
    inOrder.filter((name) => name !== 'n1'),
    noted.join('\n'),
  )
  printed.length = 0
  assert.equal(await cli([...list, '-o', 'json'], terminal), 0)
  const shown = JSON.parse(printed.join('\n')) as readonly { readonly name: string }[]
  assert.deepEqual(
    shown.map(({ name }) => name),
    inOrder,
  )
})
