/*
 * Goal: a snapshot of another member is installed when a durable log record names it, and never by
 * a message of a peer.
 * Method: the driver with a log that completes its writes on command; the test plays the api thread
 * and the network.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, nodeId, noSnapshot, term } from '../../../../raft/core/types.ts'
import { MemoryLog } from '../../../../raft/log/memory-log.ts'
import { Driver } from '../../../../raft/driver/driver.ts'
import { defaultLimits, defaultTiming } from '../../../../raft/protocol/node-options.ts'
import type { RaftToApi } from '../../../../raft/protocol/thread-messages.ts'
import type { LogWrite, Transport } from '../../../../raft/ports.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { cluster } from '../../../scenario/member-infos.ts'

const [self, leader] = [nodeId(1), nodeId(2)]
const snapshot = { index: logIndex(50), term: term(1), configuration: cluster([1, 2, 3]) }
const header = { from: leader, to: self, term: term(1), snapshot }

function bench(t: TestContext) {
  const clock = new ManualClock()
  const posted: RaftToApi[] = []
  const writes: { readonly ticket: number; readonly write: LogWrite }[] = []
  const transport: Transport = {
    start: async () => undefined,
    setPeers: () => undefined,
    send: () => undefined,
    refuse: () => undefined,
    sendSnapshot: async () => undefined,
    close: async () => undefined,
  }
  const driver = new Driver(
    {
      node: { id: self, members: [], timing: defaultTiming, limits: defaultLimits },
      clock,
      random: new SeededRandom(1),
      transport,
      api: {
        post: (message) => void posted.push(message),
        flush: () => undefined,
        onMessages: () => undefined,
        close: () => undefined,
      },
      log: {
        write: (ticket, write) => void writes.push({ ticket, write }),
        fetch: () => undefined,
        compact: () => undefined,
        trim: () => undefined,
      },
      recovered: new MemoryLog().recovered,
      flush: () => undefined,
      onBroken: (cause) => assert.fail(cause),
    },
    noSnapshot,
  )
  t.after(() => driver.stop())
  const installs = (): number => posted.filter(({ kind }) => kind === 'install').length
  const replacing = (): number | undefined => writes.find(({ write }) => write.snapshot !== null)?.ticket
  return { clock, driver, installs, replacing }
}

void test('a staged snapshot is installed once the log record that names it is durable, and only once', async (t) => {
  const { clock, driver, installs, replacing } = bench(t)
  const opening = driver.inbox.receive({ ...header, purpose: 'catch-up' })
  driver.take({ kind: 'sink-taken', stream: 1 })
  const finishing = (await opening).finish()
  driver.take({ kind: 'sink-taken', stream: 1 })
  await finishing
  await clock.settle()
  const ticket = replacing()
  assert.ok(ticket !== undefined, 'the log is compacted to the snapshot')
  assert.equal(installs(), 0, 'after a crash now the old state is used')
  driver.written(ticket)
  await clock.settle()
  assert.equal(installs(), 1)
})

void test('a snapshot message of a peer is ignored without the stream that staged it', async (t) => {
  const { clock, driver, installs, replacing } = bench(t)
  driver.receive({
    kind: 'core',
    message: { kind: 'snapshot', from: leader, to: self, term: term(1), snapshot },
  })
  await clock.settle()
  assert.equal(replacing(), undefined)
  assert.equal(installs(), 0)
})

void test('a snapshot for one request is installed once, and a second one for it is refused', async (t) => {
  const { clock, driver, installs, replacing } = bench(t)
  driver.take({ kind: 'state-wanted', atLeast: logIndex(50) })
  const opening = driver.inbox.receive({ ...header, purpose: 'repair' })
  driver.take({ kind: 'sink-taken', stream: 1 })
  const finishing = (await opening).finish()
  driver.take({ kind: 'sink-taken', stream: 1 })
  await finishing
  await clock.settle()
  const ticket = replacing()
  assert.ok(ticket !== undefined, 'the log is compacted to the snapshot')
  driver.written(ticket)
  await clock.settle()
  assert.equal(installs(), 1)
  driver.take({ kind: 'installed', index: logIndex(50) })
  const further = { ...snapshot, index: logIndex(60) }
  await assert.rejects(
    driver.inbox.receive({ ...header, purpose: 'repair', snapshot: further }),
    /did not request/,
  )
})
