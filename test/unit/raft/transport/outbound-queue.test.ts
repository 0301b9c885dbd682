/*
 * Goal: messages waiting for one peer are limited in number and in bytes, keep their order, and are
 * sent in frames of a limited size.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import { defaultTransportLimits } from '../../../../raft/transport/options.ts'
import { OutboundQueue } from '../../../../raft/transport/outbound-queue.ts'

const address = { from: nodeId(1), to: nodeId(2), term: term(1) }

/** @param bytes size of its one entry, which counts for a little more */
function append(index: number, bytes: number): PeerMessage {
  const entry = {
    index: logIndex(index),
    term: term(1),
    kind: 'command',
    data: new Uint8Array(bytes),
  } as const
  const previous = { previousIndex: logIndex(index - 1), previousTerm: term(1), commit: logIndex(0) }
  return { kind: 'core', message: { kind: 'append-request', ...address, ...previous, entries: [entry] } }
}

function indexesOf(messages: readonly PeerMessage[]): readonly number[] {
  return messages.map((message) =>
    message.kind === 'core' && message.message.kind === 'append-request'
      ? message.message.previousIndex + 1
      : 0,
  )
}

function queue(limits: {
  readonly queueMessagesMax: number
  readonly queueBytesMax: number
  readonly frameBytesMax: number
}): OutboundQueue {
  return new OutboundQueue({ ...defaultTransportLimits, ...limits })
}

void test('the queue holds at most its limit of bytes, and accepts messages again after some were taken', () => {
  const waiting = queue({ queueMessagesMax: 100, queueBytesMax: 5000, frameBytesMax: 2500 })
  const taken = [1, 2, 3, 4, 5, 6].filter((index) => waiting.offer(append(index, 1000)))
  assert.deepEqual(taken, [1, 2, 3, 4])
  assert.ok(waiting.bytes > 4000 && waiting.bytes <= 5000)
  assert.deepEqual(indexesOf(waiting.takeFrame()), [1, 2])
  assert.equal(waiting.offer(append(7, 1000)), true)
  assert.deepEqual(indexesOf(waiting.takeFrame()), [3, 4])
  assert.deepEqual(indexesOf(waiting.takeFrame()), [7])
  assert.deepEqual([waiting.size, waiting.bytes], [0, 0])
})

void test('the queue holds at most its limit of messages, however small they are', () => {
  const waiting = queue({ queueMessagesMax: 3, queueBytesMax: 1e6, frameBytesMax: 1e5 })
  const taken = [1, 2, 3, 4].filter((index) => waiting.offer(append(index, 1)))
  assert.deepEqual(taken, [1, 2, 3])
})

void test('a message of any size is accepted by an empty queue, in a frame of its own', () => {
  const waiting = queue({ queueMessagesMax: 100, queueBytesMax: 5000, frameBytesMax: 2500 })
  assert.equal(waiting.offer(append(1, 9000)), true)
  assert.equal(waiting.offer(append(2, 1)), false)
  assert.deepEqual(indexesOf(waiting.takeFrame()), [1])
  assert.equal(waiting.offer(append(2, 1)), true)
  assert.equal(waiting.offer(append(3, 4000)), true)
  assert.deepEqual(indexesOf(waiting.takeFrame()), [2], 'the large one does not fit after it')
  assert.deepEqual(indexesOf(waiting.takeFrame()), [3])
})

void test('cleared messages do not count', () => {
  const waiting = queue({ queueMessagesMax: 100, queueBytesMax: 5000, frameBytesMax: 2500 })
  waiting.offer(append(1, 4000))
  waiting.clear()
  assert.deepEqual([waiting.size, waiting.bytes], [0, 0])
  assert.equal(waiting.offer(append(2, 4000)), true)
})
