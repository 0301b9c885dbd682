/*
 * Goal: proxied links carry every byte in order, and cut, delay and end by their rules.
 * Method: real sockets on this machine through one proxy, with rules that change during the test;
 * the connection table of the kernel as text.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../../../base/random.ts'
import { noHookFaults, readHookFaults } from '../../../../tools/chaos/hook-file.ts'
import { callerOf, inodeOf } from '../../../../tools/chaos/links/caller.ts'
import { ControlClient, ControlServer } from '../../../../tools/chaos/links/control.ts'
import { MemberProxy } from '../../../../tools/chaos/links/member-proxy.ts'
import { between, parseRules, stateOf } from '../../../../tools/chaos/links/rules.ts'
import type { LinkRule } from '../../../../tools/chaos/links/rules.ts'
import { freePorts } from '../../../../fixtures/port-range.ts'
import { systemClock } from '../../../../fixtures/system.ts'

/** Starts a server as member `b`, its proxy, and one connection of `a` through it. */
async function line(t: TestContext, first: readonly LinkRule[] = []) {
  const [dialed = 0, listens = 0] = await freePorts(2)
  let rules = first
  const [received, answered]: [Buffer[], Buffer[]] = [[], []]
  const calls: Socket[] = []
  const server = createServer((socket) => {
    calls.push(socket)
    socket.on('data', (bytes: Buffer) => received.push(bytes))
    socket.on('error', () => undefined)
  })
  server.listen(listens, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await MemberProxy.open({
    ...{ proxied: { name: 'b', dialed, listens }, clock: systemClock, random: new SeededRandom(1) },
    ...{ rules: () => rules, findCaller: () => Promise.resolve('a') },
  })
  const caller = connect(dialed, '127.0.0.1')
  caller.on('data', (bytes: Buffer) => answered.push(bytes))
  caller.on('error', () => undefined)
  await once(caller, 'connect')
  t.after(async () => {
    caller.destroy()
    for (const call of calls) call.destroy()
    await proxy.close()
    server.close()
  })
  const set = (next: readonly LinkRule[]): void => {
    rules = next
    proxy.refresh()
  }
  return {
    caller,
    calls,
    set,
    received: () => Buffer.concat(received),
    answered: () => Buffer.concat(answered),
    bytesReceived: () => bytesIn(received),
    bytesAnswered: () => bytesIn(answered),
  }
}

function bytesIn(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000
  while (!holds() && performance.now() < endMs) await sleep(10)
  assert.ok(holds(), what)
}

/** Waits long enough for bytes that pass. */
const awhile = (): Promise<void> => sleep(150)

const cut = { cut: true } as const

void test('all bytes pass in order in both directions over slow and lossy links', async (t) => {
  const { caller, calls, set, received, answered, bytesReceived, bytesAnswered } = await line(t)
  const bytes = Buffer.from(new SeededRandom(5).bytes(3 * 1024 * 1024))
  set(between(['a'], ['b'], { delayMs: 5, lossPercent: 2 }))
  caller.write(bytes)
  await until('called', () => calls.length === 1)
  calls[0]?.write(bytes)
  await sleep(20)
  set([])
  await until('all of it', () => bytesReceived() === bytes.length && bytesAnswered() === bytes.length)
  assert.ok(received().equals(bytes) && answered().equals(bytes))
})

void test('a cut passes nothing, not even an end; held bytes pass after it', async (t) => {
  const { caller, calls, set, received } = await line(t)
  caller.write('one')
  await until('through', () => received().toString() === 'one')
  set(between(['a'], ['b'], cut))
  caller.write('two')
  calls[0]?.end('never mind')
  await awhile()
  assert.equal(received().toString(), 'one')
  assert.equal(caller.readableEnded, false)
  set([])
  await until('after it', () => received().toString() === 'onetwo' && caller.readableEnded)
})

void test('a one-way cut passes the other direction', async (t) => {
  const { caller, calls, set, received, answered } = await line(t)
  caller.write('hello')
  await until('through', () => calls.length === 1)
  set(between(['b'], ['a'], cut, 'from'))
  caller.write(' there')
  calls[0]?.write('a reply')
  await until('received', () => received().toString() === 'hello there')
  await awhile()
  assert.equal(answered().length, 0)
})

void test('a connection during a cut is opened when the cut ends', async (t) => {
  const { caller, calls, set, received } = await line(t, between(['b'], ['a'], cut, 'to'))
  caller.write('hello')
  await awhile()
  assert.equal(calls.length, 0)
  set([])
  await until('made', () => received().toString() === 'hello')
})

void test('a sender whose held bytes reach the limit is not read from', async (t) => {
  const { caller, calls, set, bytesReceived } = await line(t)
  caller.write('x')
  await until('through', () => calls.length === 1)
  set(between(['a'], ['b'], cut))
  const much = Buffer.alloc(64 * 1024 * 1024)
  caller.write(much)
  await awhile()
  assert.ok(caller.bytesWritten > 0 && caller.writableLength > 0, 'the sender waits')
  set([])
  await until('all of it', () => bytesReceived() === much.length + 1)
})

void test('rules add up by direction', () => {
  const rules = [
    ...between(['a'], ['b'], { delayMs: 5 }),
    ...between(['b'], ['a'], { delayMs: 7, lossPercent: 99 }, 'from'),
    ...between(['b'], ['a'], { cut: true, lossPercent: 9 }, 'from'),
  ]
  assert.deepEqual(stateOf(rules, 'a', 'b'), { cut: false, delayMs: 5, lossPercent: 0 })
  assert.deepEqual(stateOf(rules, 'b', 'a'), { cut: true, delayMs: 12, lossPercent: 100 })
  assert.deepEqual(parseRules(JSON.parse(JSON.stringify(rules))), rules)
  for (const wrong of [null, {}, [1], [{}], [{ ...rules[0], delayMs: -1 }], [{ ...rules[0], cut: 1 }]]) {
    assert.equal(parseRules(wrong), null)
  }
})

void test('the caller is found by its port', async (t) => {
  const { caller } = await line(t)
  const port = caller.localPort ?? 0
  assert.equal(await callerOf(port, new Map([['me', process.pid]])), 'me')
  assert.equal(await callerOf(port, new Map([['gone', 2 ** 22 + 1]])), null)
  assert.equal(await callerOf(1, new Map([['me', process.pid]])), null)
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:1F90 0100007F:C001 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0000',
    '   1: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000',
  ].join('\n')
  assert.equal(inodeOf(table, 8080), '4711')
  assert.equal(inodeOf(table, 8081), null)
})

void test('rules last as long as the connection that set them, and only one may set them', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'links-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'sock')
  await assert.rejects(ControlClient.open(path, systemClock), /the proxies between peers do not run/)
  let rules: readonly LinkRule[] = []
  const server = await ControlServer.open(path, (next) => {
    rules = next
  })
  const client = await ControlClient.open(path, systemClock)
  const wanted = between(['a'], ['b'], cut)
  await client.set(wanted)
  assert.deepEqual(rules, wanted)
  await assert.rejects(ControlClient.open(path, systemClock), /another run of chaos uses these links/)
  client.close()
  await until('healed', () => rules.length === 0)
  const next = await ControlClient.open(path, systemClock)
  await server.close()
  await assert.rejects(next.set(wanted), /the proxies between peers: the connection was closed/)
})

void test('disk and clock faults end by time, and an invalid file has no faults', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'harm-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'chaos.json')
  assert.deepEqual(readHookFaults(path, 0), noHookFaults)
  const faults = { disk: { delayMs: 5, untilMs: 100 }, clock: { skewMs: -5, untilMs: 200 } }
  writeFileSync(path, JSON.stringify(faults))
  assert.deepEqual(readHookFaults(path, 99), faults)
  assert.deepEqual(readHookFaults(path, 100), { ...faults, disk: null })
  for (const text of ['', '7', 'null', '{']) {
    writeFileSync(path, text)
    assert.deepEqual(readHookFaults(path, 0), noHookFaults)
  }
})
