/*
 * Goal: lost or late responses, concurrent joins and interrupted commands do no damage: a retry,
 * also on another member, detects the finished steps, continues, and does not affect a new member
 * with the same name.
 * Method: the shipped commands against a real server over TLS that makes a change and then loses
 * the response, or responds that the outcome is unknown; the second member of the kubeconfig is the
 * same server under another name.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { ConsensusError } from '../../raft/index.ts'
import type { MemberChange } from '../../raft/index.ts'
import { ensureClusterPki } from '../../src/pki/cluster-pki.ts'
import { memberInfo } from '../../fixtures/fake-consensus.ts'
import { forEver, place, seat } from '../support/fixtures/join-cluster.ts'
import type { Place } from '../support/fixtures/join-cluster.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import type { Ran } from '../support/drivers/orchctl.ts'
import { pointTo } from '../support/drivers/kubeconfig-context.ts'
import { freshRandom, systemClock } from '../../fixtures/system.ts'

const addresses = ['--peer-address', seat.peerAddress, '--client-address', seat.clientAddress]

/** How the response to the first change is lost. */
const lost = {
  'is never answered': async (): Promise<never> => new Promise(() => undefined),
  'is answered with an unknown outcome': () =>
    Promise.reject(new ConsensusError('timed-out', 'not decided in time; it may still be made')),
  'fails because the member stops': () =>
    Promise.reject(new ConsensusError('stopped', 'this member is stopping')),
} as const

/** Makes the first change and calls `instead` in place of the response. */
function losesFirst({ members }: Place, instead: () => Promise<never>): { changes: number } {
  const made = members.changeMembers.bind(members)
  const counted = { changes: 0 }
  members.changeMembers = async (change: MemberChange) => {
    const result = await made(change)
    return ++counted.changes === 1 ? instead() : result
  }
  return counted
}

/** A cluster that the kubeconfig lists as two members, n1 and n2, at the same address. */
async function placeWithTwoNames(t: TestContext): Promise<Place> {
  const there = await place(t)
  pointTo(there.kubeconfig, 'n2', `https://${there.address}`)
  pointTo(there.kubeconfig, 'n1', `https://${there.address}`)
  return there
}

function run({ kubeconfig }: Place, ...words: readonly string[]): Promise<Ran> {
  return orchctl('member', ...words, '--kubeconfig', kubeconfig)
}

for (const [how, instead] of Object.entries(lost)) {
  for (const [verb, flags, words] of [
    ['demote', [], 'n3 is a learner until it is promoted'],
    ['promote', ['--no-wait'], 'n3 votes once it has caught up'],
    ['move', ['--peer-address', '10.0.0.9:7443'], 'n3 moved: start it with --peer-address 10.0.0.9:7443'],
    ['remove', [], 'n3 is no longer a member: its process ends by itself'],
  ] as const) {
    void test(`${verb} ${how}: another member is called and finds the change done`, async (t) => {
      const there = await placeWithTwoNames(t)
      const { members } = there
      const id = members.named('n3')?.id
      assert.ok(id !== undefined)
      if (verb === 'promote') await members.changeMembers({ kind: 'set-role', id, role: 'learner' })
      const counted = losesFirst(there, instead)
      const ran = await run(there, verb, 'n3', ...flags, '--timeout', '12')
      assert.equal(ran.code, 0, ran.err)
      assert.ok(ran.out.startsWith(words), ran.out)
      assert.match(ran.err, /^member n1 (did not respond within \d+ s|responded: .*), trying n2$/m)
      // The removed member is looked up and missing.
      assert.equal(counted.changes, verb === 'remove' ? 1 : 2)
    })
  }
}

void test('a lost response to a removal does not remove a new member of the same name or its context', async (t) => {
  const there = await placeWithTwoNames(t)
  const { members, kubeconfig } = there
  const old = members.named('n3')
  assert.ok(old !== null)
  losesFirst(there, async () => {
    const another = memberInfo(77, 'n3')
    await members.changeMembers({
      kind: 'add',
      member: { ...another, peerAddress: 'c:1', clientAddress: 'c:2' },
      basedOn: members.applied,
    })
    throw new ConsensusError('timed-out', 'not decided in time; it may still be made')
  })
  pointTo(kubeconfig, 'n3', `https://${there.address}`)
  pointTo(kubeconfig, 'n1', `https://${there.address}`)
  const ran = await run(there, 'remove', 'n3', '--timeout', '30')
  assert.equal(ran.code, 0, ran.err)
  assert.match(ran.out, /^n3 is no longer a member, and another one has its name by now/)
  assert.equal(members.named('n3')?.id, 77)
  assert.ok(readFileSync(kubeconfig, 'utf8').includes('name: n3'))
  assert.doesNotMatch(ran.err, /removed its context/)
})

void test('a change that no member made fails with the last error', async (t) => {
  const there = await placeWithTwoNames(t)
  there.members.changeMembers = () =>
    Promise.reject(new ConsensusError('timed-out', 'not decided in time; it may still be made'))
  const ran = await run(there, 'remove', 'n3', '--timeout', '30')
  assert.equal(ran.code, 1)
  assert.match(
    ran.err,
    /no member confirmed the change: tried n1, n2, .*try again \(--timeout\); member n3 did not respond/,
  )
})

for (const [how, answer] of [
  ['the response is lost', null],
  ['the response is a timeout', new ConsensusError('timed-out', 'n2 did not take over in time')],
  ['the leader stops', new ConsensusError('stopped', 'this member is stopping')],
] as const) {
  for (const to of ['n2', null]) {
    void test(`a transfer to ${to ?? 'any voter'} that succeeds although ${how} is reported as a success, and not repeated`, async (t) => {
      const there = await place(t)
      const { consensus, kubeconfig, address } = there
      const between = await breakable(t, address)
      pointTo(kubeconfig, 'n1', between.url)
      const transfer = consensus.transferLeadership.bind(consensus)
      consensus.transferLeadership = async (target) => {
        await transfer(target)
        if (answer !== null) throw answer
        between.cut()
      }
      const ran = await run(there, 'transfer-leader', ...(to === null ? [] : [to]))
      assert.equal(ran.code, 0, ran.err)
      assert.equal(ran.out, `${to ?? 'n2'} leads, n1 follows`)
      assert.equal(consensus.transfers.length, 1)
    })
  }
}

void test('leadership that did not move is reported with the current leader and its error', async (t) => {
  const there = await place(t)
  there.consensus.transferLeadership = () => Promise.reject(new ConsensusError('timed-out', 'too slow'))
  const ran = await run(there, 'transfer-leader', 'n2')
  assert.equal(ran.code, 1)
  assert.match(ran.err, /^orchctl: member n1: Timeout: leadership was not transferred in time/)
})

/** A proxy to the member that can be cut: pending responses are lost. */
async function breakable(t: TestContext, address: string): Promise<{ url: string; cut: () => void }> {
  const sockets: Socket[] = []
  const [host = '', port] = address.split(':')
  const server = createServer((socket) => {
    const onwards = connect(Number(port), host).on('error', () => undefined)
    sockets.push(
      socket.on('error', () => undefined),
      onwards,
    )
    socket.pipe(onwards).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  t.after(() => {
    cut()
    server.close()
  })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, cut }
}

/**
 * Lets the process for n4 join after the command has read the members and before its request is
 * answered.
 */
async function joinsMeanwhile(t: TestContext, replaces: string | null): Promise<Place> {
  let looked = (): void => undefined
  const there: Place = await place(t, {
    configuration: () => {
      looked()
      return there.members.configuration
    },
  })
  const { members } = there
  const { role: wantedRole, ...given } = seat
  looked = () => {
    looked = () => undefined
    const old = replaces === null ? null : members.named(replaces)
    void members.changeMembers({
      kind: 'add',
      member: { ...memberInfo(4, 'n4'), ...given, wantedRole, replaces: old?.id ?? null },
      basedOn: members.applied,
    })
  }
  return there
}

void test('replace: a process that joins by an earlier token is recognized as the new member', async (t) => {
  const there = await joinsMeanwhile(t, 'n3')
  const { members } = there
  const waiting = run(there, 'replace', 'n3', 'n4', ...addresses)
  while (members.named('n4') === null) await new Promise((resolve) => setTimeout(resolve, 5))
  const next = members.named('n4')
  assert.ok(next !== null)
  await members.changeMembers({ kind: 'promote', id: next.id })
  const ran = await waiting
  assert.equal(ran.code, 0, ran.err)
  assert.match(ran.out, /^n4 votes (in the place of n3, which is no longer a member|already, n3 is gone)$/)
  assert.equal(members.named('n3'), null)
})

void test('replace: a rerun after the replacement removes the context of the replaced member', async (t) => {
  const there = await place(t)
  const { members, kubeconfig, folder } = there
  const pki = ['--pki', join(folder, 'pki')]
  const replace = ['replace', 'n3', 'n4', ...addresses, ...pki]
  assert.equal((await run(there, ...replace, '--no-wait')).code, 0)
  // The context that n3 got when it joined.
  const came = [{ name: 'n3', hosts: ['10.0.0.3'], serverUrl: 'https://10.0.0.3:6443' }]
  const keys = { directory: join(folder, 'pki'), kubeconfigPath: kubeconfig, members: came }
  ensureClusterPki({ ...keys, clock: systemClock, random: freshRandom() })
  assert.match(readFileSync(kubeconfig, 'utf8'), /name: n3/)
  const { role: wantedRole, ...given } = seat
  const old = members.named('n3')
  const member = { ...memberInfo(4, 'n4'), ...given, wantedRole, replaces: old?.id ?? null }
  await members.changeMembers({ kind: 'add', member, basedOn: members.applied })
  await members.changeMembers({ kind: 'promote', id: member.id })
  const ran = await run(there, ...replace)
  assert.equal(ran.out, 'n4 votes already, n3 is gone', ran.err)
  assert.match(ran.err, /^removed its context n3 from /m)
  assert.doesNotMatch(readFileSync(kubeconfig, 'utf8'), /name: n3/)
})

void test('add: a joined member is waited for, and another address is refused', async (t) => {
  const there = await joinsMeanwhile(t, null)
  const { members, service } = there
  const first = await run(there, 'add', 'n4', ...addresses)
  assert.equal(first.code, 0, first.err)
  assert.match(
    first.out,
    /^n4 has joined already: no token is made; if its data is lost, orchctl member remove n4/,
  )
  const json = await run(there, 'add', 'n4', ...addresses, '-o', 'json')
  const reported = JSON.parse(json.out) as Record<string, unknown>
  assert.deepEqual([reported['joined'], reported['token']], [true, undefined])
  const waiting = run(there, 'add', 'n4', ...addresses, '--wait')
  const next = members.named('n4')
  assert.ok(next !== null)
  await members.changeMembers({ kind: 'promote', id: next.id })
  const waited = await waiting
  assert.match(waited.out, /n4 votes$/, waited.err)
  const elsewhere = ['--peer-address', '10.0.0.8:1', '--client-address', seat.clientAddress]
  const refused = await run(there, 'add', 'n4', ...elsewhere)
  assert.equal(refused.code, 1)
  assert.match(
    refused.err,
    /there is a member n4 already, a voter at \S+: take another name, or orchctl member remove n4/,
  )
  const replacing = await run(there, 'replace', 'n1', 'n4', ...addresses)
  assert.match(replacing.err, /n4 is a member already and does not replace n1: orchctl member remove n1/)
  assert.equal((await service.issue({ ...seat, replaces: null }, forEver)).kind, 'member')
})
