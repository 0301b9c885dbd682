import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entryBytes, logIndex, nodeId, noSnapshot, term } from '../../raft/core/types.ts'
import type { Configuration, Entry, HardState, LogIndex, SnapshotMeta } from '../../raft/core/types.ts'
import { LogError } from '../../raft/log/errors.ts'
import type { LogStore, LogWrite } from '../../raft/ports.ts'

/**
 * One implementation of a log. `reopen` closes a log and opens it again from its durable content.
 */
export type LogStoreUnderTest = {
  readonly open: () => LogStore
  readonly reopen: (store: LogStore) => LogStore
  readonly destroy: () => void
}

export function configurationOf(...ids: readonly number[]): Configuration {
  return {
    voters: ids.map(nodeId),
    votersOutgoing: null,
    learners: [],
    learnersNext: [],
    autoLeave: false,
    members: ids.map((id) => ({
      id: nodeId(id),
      name: `n${id}`,
      role: 'voter',
      wantedRole: 'voter',
      peerAddress: `n${id}.example:7443`,
      clientAddress: `n${id}.example:6443`,
      version: '0.1.0',
      featureLevel: 1,
      replaces: null,
      addedMs: 0,
    })),
  }
}

export function command(index: number, at: number, text = `command ${index} of term ${at}`): Entry {
  return { index: logIndex(index), term: term(at), kind: 'command', data: new TextEncoder().encode(text) }
}

export function commands(from: number, to: number, at: number): readonly Entry[] {
  return Array.from({ length: to - from + 1 }, (_, step) => command(from + step, at))
}

export function empty(index: number, at: number): Entry {
  return { index: logIndex(index), term: term(at), kind: 'empty' }
}

export function configurationEntry(index: number, at: number, ...ids: readonly number[]): Entry {
  return {
    index: logIndex(index),
    term: term(at),
    kind: 'configuration',
    configuration: configurationOf(...ids),
  }
}

export function hard(at: number, vote: number | null, commit: number): HardState {
  return { term: term(at), vote: vote === null ? null : nodeId(vote), commit: logIndex(commit) }
}

export function meta(index: number, at: number, ...ids: readonly number[]): SnapshotMeta {
  return { index: logIndex(index), term: term(at), configuration: configurationOf(...ids) }
}

export function write(entries: readonly Entry[], hardState: HardState | null = null): LogWrite {
  return { snapshot: null, entries, hardState }
}

/** All entries of a log, in a form that can be compared. */
export function contents(store: LogStore): readonly Entry[] {
  const { base, lastIndex } = store.recovered
  return lastIndex === base.index ? [] : readAll(store, base.index + 1, lastIndex)
}

export function readAll(store: LogStore, from: number, to: number): readonly Entry[] {
  return store.read(logIndex(from), logIndex(to), Number.MAX_SAFE_INTEGER).map(plain)
}

/** Equal data compares equal, whatever buffer it is a view of. */
export function plain(entry: Entry): Entry {
  return entry.kind === 'command' ? { ...entry, data: new Uint8Array(entry.data) } : entry
}

function refuses(code: string, action: () => unknown): void {
  assert.throws(action, (cause) => cause instanceof LogError && cause.code === code)
}

/** The tests that every implementation of LogStore passes. */
export function logStoreSuite(name: string, make: () => LogStoreUnderTest): void {
  const on = (
    sentence: string,
    body: (open: () => LogStore, reopen: (s: LogStore) => LogStore) => void,
  ): void => {
    void test(`${name}: ${sentence}`, () => {
      const under = make()
      try {
        body(under.open, under.reopen)
      } finally {
        under.destroy()
      }
    })
  }
  reading(on)
  replacing(on)
  forgetting(on)
}

type On = (sentence: string, body: (open: () => LogStore, reopen: (s: LogStore) => LogStore) => void) => void

function reading(on: On): void {
  on('a new log is empty', (open) => {
    const { recovered } = open()
    assert.deepEqual(recovered, {
      logId: recovered.logId,
      hardState: hard(0, null, 0),
      base: noSnapshot,
      configuration: noSnapshot.configuration,
      lastIndex: 0,
      lastTerm: 0,
      termRuns: [],
      configurations: [],
      bytes: 0,
      repaired: null,
    })
  })

  on('appended entries are readable, also after a restart', (open, reopen) => {
    let store = open()
    const entries = [
      configurationEntry(1, 1, 1, 2, 3),
      empty(2, 1),
      ...commands(3, 40, 1),
      command(41, 1, ''),
    ]
    store.append([write(entries)])
    assert.deepEqual(readAll(store, 1, 41), entries)
    store = reopen(store)
    assert.deepEqual(contents(store), entries)
    assert.equal(store.recovered.lastIndex, 41)
    assert.equal(store.recovered.repaired, null)
  })

  on('all writes of a group are stored in order', (open, reopen) => {
    let store = open()
    store.append([
      write(commands(1, 5, 1), hard(1, 2, 0)),
      write([], hard(2, null, 3)),
      write(commands(4, 9, 2)),
      write([], hard(2, 3, 4)),
    ])
    const expected = [...commands(1, 3, 1), ...commands(4, 9, 2)]
    assert.deepEqual(readAll(store, 1, 9), expected)
    store = reopen(store)
    assert.deepEqual(contents(store), expected)
    assert.deepEqual(store.recovered.hardState, hard(2, 3, 4))
  })

  on(
    'a read stops at `to`, at the requested bytes and at the end, and returns at least one entry',
    (open) => {
      const store = open()
      store.append([write(commands(1, 10, 1))])
      store.append([write(commands(11, 20, 1))])
      assert.deepEqual(readAll(store, 5, 15), commands(5, 15, 1))
      assert.deepEqual(readAll(store, 19, 1000), commands(19, 20, 1))
      const size = entryBytes(command(10, 1))
      const some = store.read(logIndex(10), logIndex(20), 3 * size)
      assert.deepEqual(some.map(plain), commands(10, 12, 1))
      assert.deepEqual(store.read(logIndex(10), logIndex(20), 1).map(plain), commands(10, 10, 1))
      refuses('missing', () => store.read(logIndex(21), logIndex(21), 1))
    },
  )

  on('data of any size and content is read back unchanged', (open, reopen) => {
    let store = open()
    const entries = [0, 1, 511, 512, 513, 4096, 70_000, 3_000_000].map((length, at): Entry => ({
      index: logIndex(at + 1),
      term: term(1),
      kind: 'command',
      data: Uint8Array.from({ length }, (_, place) => (place < length / 2 ? 0 : (place * 31 + at) & 0xff)),
    }))
    store.append([write(entries)])
    store = reopen(store)
    assert.deepEqual(contents(store), entries)
  })

  on('numbers above 2^32 are exact', (open, reopen) => {
    let store = open()
    const big = 2 ** 52 + 1
    store.append([{ snapshot: meta(big, big, 2 ** 53 - 1), entries: [empty(big + 1, big)], hardState: null }])
    store.append([write([], hard(big + 7, 2 ** 53 - 1, big))])
    store = reopen(store)
    assert.deepEqual(store.recovered.hardState, hard(big + 7, 2 ** 53 - 1, big))
    assert.deepEqual(store.recovered.base, meta(big, big, 2 ** 53 - 1))
    assert.deepEqual(contents(store), [empty(big + 1, big)])
  })

  on('the latest hard state is recovered', (open, reopen) => {
    let store = open()
    store.append([write([], hard(1, 3, 0))])
    store.append([write([], hard(2, null, 0))])
    store = reopen(store)
    assert.deepEqual(store.recovered.hardState, hard(2, null, 0))
  })
}

function replacing(on: On): void {
  on('an entry replaces the entry at its index and all later ones', (open, reopen) => {
    let store = open()
    store.append([write(commands(1, 10, 1))])
    store.append([write(commands(6, 7, 2))])
    const expected = [...commands(1, 5, 1), ...commands(6, 7, 2)]
    assert.deepEqual(readAll(store, 1, 10), expected)
    refuses('missing', () => store.read(logIndex(8), logIndex(8), 1))
    store = reopen(store)
    assert.deepEqual(contents(store), expected)
    assert.equal(store.recovered.lastTerm, 2)
    store.append([write(commands(8, 9, 3))])
    store = reopen(store)
    assert.deepEqual(contents(store), [...expected, ...commands(8, 9, 3)])
  })

  on('recovery reports the exact runs of terms', (open, reopen) => {
    let store = open()
    store.append([write([...commands(1, 3, 1), ...commands(4, 4, 3), ...commands(5, 9, 4)])])
    store.append([write(commands(5, 6, 7))])
    store = reopen(store)
    const runs = [
      { first: 1, term: 1 },
      { first: 4, term: 3 },
      { first: 5, term: 7 },
    ]
    assert.deepEqual(store.recovered.termRuns, runs)
    store.compact(meta(2, 1, 1))
    store = reopen(store)
    assert.deepEqual(store.recovered.termRuns, [{ first: 3, term: 1 }, ...runs.slice(1)])
    store.compact(meta(4, 3, 1))
    store = reopen(store)
    assert.deepEqual(store.recovered.termRuns, [{ first: 5, term: 7 }])
    store.compact(meta(6, 7, 1))
    store = reopen(store)
    assert.deepEqual(store.recovered.termRuns, [])
    assert.equal(store.recovered.lastTerm, 7)
  })

  on(
    'recovery reports configurations: replaced entries revert them, compaction leaves that of the base',
    (open, reopen) => {
      let store = open()
      store.append([write([configurationEntry(1, 1, 1), command(2, 1), configurationEntry(3, 1, 1, 2)])])
      store = reopen(store)
      assert.deepEqual(store.recovered.configuration, configurationOf(1, 2))
      assert.deepEqual(
        store.recovered.configurations.map(({ index }) => index),
        [1, 3],
      )
      store.append([write([command(3, 2)])])
      store = reopen(store)
      assert.deepEqual(store.recovered.configuration, configurationOf(1))
      store.compact(meta(3, 2, 1, 5))
      store = reopen(store)
      assert.deepEqual(store.recovered.configurations, [])
      assert.deepEqual(store.recovered.configuration, configurationOf(1, 5))
    },
  )
}

function forgetting(on: On): void {
  on('reads of compacted entries fail, the other entries stay', (open, reopen) => {
    let store = open()
    store.append([write(commands(1, 50, 1), hard(1, 1, 40))])
    store.compact(meta(30, 1, 1, 2))
    for (const again of [false, true]) {
      if (again) store = reopen(store)
      refuses('compacted', () => store.read(logIndex(30), logIndex(40), 1))
      assert.deepEqual(readAll(store, 31, 50), commands(31, 50, 1))
    }
    assert.deepEqual(store.recovered.base, meta(30, 1, 1, 2))
    assert.deepEqual(store.recovered.hardState, hard(1, 1, 40))
  })

  on(
    'recovery reports the approximate bytes of the entries, without replaced and compacted ones',
    (open, reopen) => {
      let store = open()
      assert.equal(store.recovered.bytes, 0)
      const large = (from: number, to: number, at: number): readonly Entry[] =>
        commands(from, to, at).map(({ index }) => command(index, at, 'x'.repeat(1000)))
      store.append([write(large(1, 50, 1))])
      store.append([write(large(41, 60, 2))])
      const opened = (entries: number): void => {
        store = reopen(store)
        const { bytes } = store.recovered
        assert.ok(bytes >= entries * 1000 && bytes <= entries * 1100, `${bytes} bytes of ${entries} entries`)
      }
      opened(60)
      store.compact(meta(20, 1, 1))
      opened(40)
      store.append([{ snapshot: meta(70, 3, 1), entries: large(71, 75, 3), hardState: null }])
      opened(5)
    },
  )

  on('compaction at or below the base has no effect', (open, reopen) => {
    let store = open()
    store.append([write(commands(1, 9, 1))])
    store.compact(meta(5, 1, 1))
    store.compact(meta(5, 1, 1))
    store.compact(meta(4, 1, 2))
    store = reopen(store)
    assert.deepEqual(store.recovered.base, meta(5, 1, 1))
    assert.deepEqual(contents(store), commands(6, 9, 1))
  })

  on('an entirely compacted log accepts entries', (open, reopen) => {
    let store = open()
    store.append([write(commands(1, 9, 1))])
    store.compact(meta(9, 1, 1))
    store = reopen(store)
    assert.equal(store.recovered.lastIndex, 9)
    assert.equal(store.recovered.lastTerm, 1)
    store.append([write(commands(10, 12, 2))])
    store = reopen(store)
    assert.deepEqual(contents(store), commands(10, 12, 2))
  })

  on('a snapshot replaces the whole log, and entries of the same write follow it', (open, reopen) => {
    let store = open()
    store.append([write(commands(1, 9, 1), hard(1, 1, 5))])
    store.append([
      { snapshot: meta(100, 4, 1, 2, 3), entries: commands(101, 103, 5), hardState: hard(5, null, 100) },
    ])
    for (const again of [false, true]) {
      if (again) store = reopen(store)
      refuses('compacted', () => store.read(logIndex(100), logIndex(100), 1))
      assert.deepEqual(readAll(store, 101, 103), commands(101, 103, 5))
    }
    assert.deepEqual(store.recovered.base, meta(100, 4, 1, 2, 3))
    assert.deepEqual(store.recovered.termRuns, [{ first: 101, term: 5 }])
    assert.deepEqual(store.recovered.hardState, hard(5, null, 100))
  })

  on('a snapshot may be older than the entries of the log', (open, reopen) => {
    let store = open()
    store.append([write(commands(1, 20, 1))])
    store.append([{ snapshot: meta(10, 2, 1), entries: [], hardState: null }])
    store = reopen(store)
    const last: LogIndex = store.recovered.lastIndex
    assert.equal(last, 10)
    assert.equal(store.recovered.lastTerm, 2)
    store.append([write(commands(11, 12, 3))])
    store = reopen(store)
    assert.deepEqual(contents(store), commands(11, 12, 3))
  })
}
