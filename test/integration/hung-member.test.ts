/*
 * Goal: a member that accepts connections and never responds does not prevent a change through
 * another one, costs at most the given time, and is named with a remedy.
 * Method: the shipped commands against a real server, behind a listener that never responds.
 */
import assert from 'node:assert/strict'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { logIndex, nodeId } from '../../raft/index.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { place } from '../support/fixtures/join-cluster.ts'
import { pointTo } from '../support/drivers/kubeconfig-context.ts'

/**
 * Accepts connections; the first `passes` go to the member at `address`, the others get no bytes.
 */
async function hung(
  t: TestContext,
  address: string,
  passes: number,
): Promise<{ url: string; taken: number }> {
  const sockets: Socket[] = []
  const found = { url: '', taken: 0 }
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined))
    found.taken++
    if (found.taken > passes) return
    const [host = '', port] = address.split(':')
    const onwards = connect(Number(port), host).on('error', () => undefined)
    sockets.push(onwards)
    socket.pipe(onwards).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  found.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return found
}

void test('a member that never responds is called once, and another makes the change', async (t) => {
  const { kubeconfig, address, members } = await place(t)
  const member = await hung(t, address, 0)
  pointTo(kubeconfig, 'n0', member.url)
  const ran = await orchctl('member', 'remove', 'n3', '--kubeconfig', kubeconfig)
  assert.equal(ran.code, 0, ran.err)
  assert.equal(members.named('n3'), null)
  assert.match(ran.err, /^member n0 at https:\S+ does not answer, trying n1$/m)
  assert.equal(member.taken, 1)
})

void test('a member that hangs during the change gets its share of --timeout, and the error names it', async (t) => {
  const { kubeconfig, address } = await place(t)
  const member = await hung(t, address, 1)
  pointTo(kubeconfig, 'n1', member.url)
  const ran = await orchctl('member', 'remove', 'n3', '--timeout', '2', '--kubeconfig', kubeconfig)
  assert.equal(ran.code, 1)
  assert.match(ran.err, /^member n1 did not respond within 1 s, trying n\d$/m)
  assert.match(ran.err, /no member confirmed the change: tried n1, .*; it is safe to try again/)
})

void test('member list names hanging and unreachable members, each with a remedy', async (t) => {
  const { kubeconfig, address } = await place(t)
  const member = await hung(t, address, 0)
  pointTo(kubeconfig, 'n2', 'https://127.0.0.1:1')
  pointTo(kubeconfig, 'n3', member.url)
  pointTo(kubeconfig, 'n1', `https://${address}`)
  for (const output of ['table', 'json']) {
    const ran = await orchctl('member', 'list', '-o', output, '--kubeconfig', kubeconfig)
    assert.equal(ran.code, 0, ran.err)
    const hangs =
      /^n3 at https:\S+ accepts connections but does not respond, so its process hangs: continue it .* restart it$/m
    assert.match(ran.err, hangs)
    assert.match(
      ran.err,
      /^n2 at https:\S+ accepts no connections: start it, or check the network in between/m,
    )
    assert.doesNotMatch(ran.err, /^n1 /m)
  }
})

void test('leadership is not transferred to a hanging member, which the error names', async (t) => {
  const { kubeconfig, address, members } = await place(t)
  const member = await hung(t, address, 0)
  pointTo(kubeconfig, 'n3', member.url)
  pointTo(kubeconfig, 'n1', `https://${address}`)
  const progress = { state: 'replicate', match: logIndex(10), next: logIndex(11) } as const
  members.followers = [
    { id: nodeId(2), ...progress, recentlyActive: true },
    { id: nodeId(3), ...progress, recentlyActive: false },
  ]
  const ran = await orchctl('member', 'transfer-leader', 'n3', '--kubeconfig', kubeconfig)
  assert.equal(ran.code, 1)
  assert.match(ran.err, /n3 has not responded lately: check its process, or restart it/)
  assert.match(
    ran.err,
    /^ {2}n3 at https:\S+ accepts connections but does not respond, so its process hangs: /m,
  )
})
