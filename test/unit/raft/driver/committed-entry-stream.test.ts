/*
 * Goal: the api thread learns of every committed entry once, as bytes while it has credit,
 * otherwise by index; and is never sent a durable index that the log may take back.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, entryBytes, logIndex, noIndex, term } from '../../../../raft/core/types.ts'
import type { Entry } from '../../../../raft/core/types.ts'
import { CommittedEntryStream } from '../../../../raft/driver/committed-entry-stream.ts'
import type { RaftToApi } from '../../../../raft/protocol/thread-messages.ts'

type Committed = Extract<RaftToApi, { kind: 'committed' }>

function entries(from: number, to: number, at = 1): Entry[] {
  const list: Entry[] = []
  for (let index = from; index <= to; index++) {
    list.push({ kind: 'command', index: logIndex(index), term: term(at), data: new Uint8Array(68) })
  }
  return list
}

const oneBytes = entryBytes(entries(1, 1)[0] as Entry)

function bench(
  credit: number,
  tail = 100,
): { feed: CommittedEntryStream; posted: () => (readonly [string, number, number])[] } {
  let messages: Committed[] = []
  const feed = new CommittedEntryStream(
    {
      creditBytes: credit * oneBytes,
      tailBytesMax: tail * oneBytes,
      post: (message) => {
        assert.equal(message.kind, 'committed')
        if (message.kind === 'committed') messages.push(message)
      },
    },
    noIndex,
  )
  const posted = (): (readonly [string, number, number])[] => {
    const lines = messages.map(({ entries: sent, commit, persisted }) => {
      const indexes = sent.map(({ index }) => index)
      return [indexes.join(' '), commit, persisted] as const
    })
    messages = []
    return lines
  }
  return { feed, posted }
}

void test('nothing is sent before the api thread requests it', () => {
  const { feed, posted } = bench(10)
  feed.writing(1, null, entries(1, 3))
  feed.move(logIndex(2))
  assert.deepEqual(posted(), [['', 2, 0]])
  feed.resume(logIndex(1))
  assert.deepEqual(posted(), [['1 2', 2, 0]])
  feed.written(1)
  feed.move(logIndex(3))
  assert.deepEqual(posted(), [['3', 3, 3]])
  feed.move(logIndex(3))
  assert.deepEqual(posted(), [], 'nothing moved')
})

void test('without credit only the commit index is sent, until the api thread caught up and requests entries again', () => {
  const { feed, posted } = bench(2)
  feed.resume(logIndex(1))
  feed.writing(1, null, entries(1, 5))
  feed.written(1)
  feed.move(logIndex(5))
  assert.deepEqual(posted(), [['1 2', 5, 5]])
  feed.granted(2 * oneBytes)
  feed.writing(2, null, entries(6, 6))
  feed.move(logIndex(6))
  assert.deepEqual(posted(), [['', 6, 5]], 'the api thread is reading the log')
  feed.resume(logIndex(6))
  assert.deepEqual(posted(), [['6', 6, 5]])
  assert.throws(() => feed.granted(3 * oneBytes), { name: 'BrokenInvariant' })
})

void test('entries that do not fit the tail have to be read from the log', () => {
  const { feed, posted } = bench(10, 2)
  feed.writing(1, null, entries(1, 4))
  feed.written(1)
  feed.move(logIndex(4))
  posted()
  feed.resume(logIndex(1))
  assert.deepEqual(posted(), [])
  feed.resume(logIndex(3))
  assert.deepEqual(posted(), [['3 4', 4, 4]])
})

void test('a write that replaces entries lowers the durable index, also for writes in progress', () => {
  const { feed, posted } = bench(10)
  feed.writing(1, null, entries(1, 10))
  feed.writing(2, null, entries(8, 9, 2))
  feed.written(1)
  feed.move(logIndex(9))
  assert.deepEqual(posted(), [['', 9, 7]], 'entries 8 and 9 on disk are the old ones')
  feed.written(2)
  feed.move(logIndex(9))
  assert.deepEqual(posted(), [['', 9, 9]])
})

void test('a snapshot ends the stream until the api thread has installed it', () => {
  const { feed, posted } = bench(10)
  feed.resume(logIndex(1))
  feed.writing(1, null, entries(1, 3))
  feed.move(logIndex(2))
  posted()
  const snapshot = { index: logIndex(20), term: term(3), configuration: emptyConfiguration }
  feed.writing(2, snapshot, entries(21, 22, 3))
  feed.move(logIndex(22))
  assert.deepEqual(posted(), [['', 22, 0]])
  feed.written(2)
  feed.resume(logIndex(21))
  assert.deepEqual(posted(), [['21 22', 22, 22]])
})
