/*
 * Goal: a state that is sent says whom it was copied from where that is understood, and is nothing an older program refuses
 * where it is not; what an older program sends is taken for all its own doing.
 * Method: whole machines in memory, and what one sends the other in each version of the peer protocol.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../../../raft/index.ts'
import type { NodeId, SnapshotMeta } from '../../../../../raft/index.ts'
import { protocolNewest, protocolOldest } from '../../../../../raft/transport/protocol-version.ts'
import type { Descent } from '../../../../../src/store/descent.ts'
import { MemoryKeyValueHome } from '../../../../../src/store/disk/memory-key-value-store.ts'
import { FrameParser } from '../../../../../src/store/disk/snapshot-frames.ts'
import type { StoreMachine } from '../../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../../support/manual-clock.ts'
import { applyUpTo, chunksOf, openMachine, randomLog } from '../../../../support/store-machines.ts'

const log = randomLog(21, 60)

async function machineOf(self: number, upTo: number): Promise<StoreMachine> {
  const clock = new ManualClock()
  const machine = await openMachine({ home: new MemoryKeyValueHome(), clock, self: nodeId(self) })
  applyUpTo(machine, log, upTo)
  await clock.advance(1000)
  return machine
}

type Sent = { readonly snapshot: SnapshotMeta; readonly chunks: readonly Uint8Array[] }

async function sentBy(machine: StoreMachine, protocol: number): Promise<Sent> {
  const source = await machine.produceSnapshot(null, protocol)
  return { snapshot: source.snapshot, chunks: await chunksOf(source) }
}

/** The number of bytes in front of the end's payload is the same for every frame. */
const frameHeadBytes = 4 + 16 + 1

function endOf({ chunks }: Sent): { readonly payloadBytes: number; readonly descent: Descent | null } {
  const last = chunks.at(-1)
  assert.ok(last !== undefined)
  const [end] = new FrameParser().push(last)
  assert.ok(end?.kind === 'end')
  return { payloadBytes: last.byteLength - frameHeadBytes, descent: end.descent }
}

async function take({ snapshot, chunks }: Sent, from: NodeId | null): Promise<StoreMachine> {
  const machine = await machineOf(9, 5)
  const sink = await machine.stageSnapshot(snapshot, from)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  await machine.installSnapshot(snapshot)
  return machine
}

void test('an older peer gets the end it knows: eight bytes; so does a file', async () => {
  const sender = await machineOf(1, 60)
  for (const protocol of [protocolOldest, 0]) {
    const end = endOf(await sentBy(sender, protocol))
    assert.deepEqual(end, { payloadBytes: 8, descent: null })
  }
})

void test('a peer that reads it learns whom it copies, also that this is nobody any more', async () => {
  const sender = await machineOf(1, 60)
  const { appliedMemory } = sender
  const sent = await sentBy(sender, protocolNewest)
  const stretches = [{ by: 1, after: 0, upTo: appliedMemory }]
  assert.deepEqual(endOf(sent).descent, stretches)
  assert.deepEqual((await take(sent, nodeId(1))).descent, stretches)
  sender.proven(appliedMemory)
  const proven = await sentBy(sender, protocolNewest)
  assert.deepEqual(endOf(proven).descent, [])
  assert.deepEqual((await take(proven, nodeId(1))).descent, [])
})

void test('what an older program sends is all its own doing, until it is proven', async () => {
  const sent = await sentBy(await machineOf(1, 60), protocolOldest)
  const upTo = sent.snapshot.index
  const machine = await take(sent, nodeId(4))
  assert.deepEqual(machine.descent, [{ by: 4, after: 0, upTo }])
  assert.deepEqual((await take(sent, null)).descent, [{ by: null, after: 0, upTo }])
  machine.proven(upTo)
  assert.deepEqual(machine.descent, [])
})
