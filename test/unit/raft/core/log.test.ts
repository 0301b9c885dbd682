import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RaftLog } from '../../../../raft/core/log.ts'
import { logIndex, noIndex, noSnapshot, noTerm, term } from '../../../../raft/core/types.ts'
import type { Entry, LogIndex } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { command } from './solo.ts'
import { fc } from '../../../support/generators/fast-check.ts'

/*
 * Goal: what the log reports as durable is durable and stays so, whatever is overwritten while
 * writes are in progress.
 * Method: a model disk that completes the writes in order, some time later.
 */

const empty = {
  base: noSnapshot,
  configurations: [],
  lastIndex: noIndex,
  lastTerm: noTerm,
  termRuns: [],
}

function write(disk: Entry[], entries: readonly Entry[]): void {
  const first = entries[0]
  if (first === undefined) return
  disk.length = first.index - 1
  disk.push(...entries)
}

void test('a late completion of an overwritten write does not make its replacement durable', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant('overwrite' as const), back: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant('hand-out' as const) }),
      fc.record({ kind: fc.constant('complete' as const), count: fc.integer({ min: 1, max: 2 }) }),
    ),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(steps, (list) => {
      const log = new RaftLog(empty, 1 << 20)
      const memory: Entry[] = []
      const disk: Entry[] = []
      const underWay: { ticket: number; entries: readonly Entry[] }[] = []
      let ticket = 1
      let era = 1
      const append = (): void => {
        const entry = command(memory.length + 1, era)
        memory.push(entry)
        log.append(entry)
      }
      for (const step of list) {
        switch (step.kind) {
          case 'append':
            for (let at = 0; at < step.count; at++) append()
            break
          case 'overwrite': {
            const from = Math.max(1, memory.length - step.back + 1)
            if (memory.length === 0) break
            era++
            memory.length = from - 1
            log.truncateFrom(logIndex(from))
            append()
            break
          }
          case 'hand-out':
            underWay.push({ ticket, entries: log.takeUpdate(ticket++).entries })
            break
          case 'complete': {
            const done = underWay.splice(0, step.count)
            for (const { entries } of done) write(disk, entries)
            const last = done.at(-1)
            if (last !== undefined) log.notePersisted(last.ticket)
            break
          }
        }
        assert.equal(log.lastIndex, memory.length)
        // Durable now, and after every pending write.
        const later = [...disk]
        for (const image of [disk, ...underWay.map(({ entries }) => (write(later, entries), [...later]))]) {
          for (let at = 0; at < log.persisted; at++) assert.equal(image[at], memory[at])
        }
      }
      underWay.push({ ticket, entries: log.takeUpdate(ticket).entries })
      for (const { entries } of underWay) write(disk, entries)
      log.notePersisted(ticket)
      assert.equal(log.persisted, memory.length)
      assert.deepEqual(disk, memory)
    }),
  )
})

void test('a configuration is added and removed with its entry, and survives a compaction', () => {
  const log = new RaftLog(empty, 1 << 20)
  const entry = (index: number, at: number, voters: readonly number[]): Entry => ({
    kind: 'configuration',
    index: logIndex(index),
    term: term(at),
    configuration: cluster(voters),
  })
  log.append(entry(1, 1, [1]))
  log.append(command(2, 1))
  log.append(entry(3, 1, [1, 2]))
  assert.deepEqual([log.configuration.voters, log.configurationIndex], [[1, 2], 3])
  log.truncateFrom(logIndex(3))
  assert.deepEqual([log.configuration.voters, log.configurationIndex], [[1], 1])
  log.takeUpdate(1)
  log.notePersisted(1)
  const before = log.configuration
  log.compact({ index: logIndex(2), term: term(1), configuration: cluster([1]) })
  assert.equal(log.configuration, before)
  assert.deepEqual([log.termAt(logIndex(1)), log.termAt(logIndex(2))], [null, 1])
})

void test('a restored log starts at the snapshot, and is durable once that write is', () => {
  const log = new RaftLog(empty, 1 << 20)
  for (let index = 1; index <= 5; index++) log.append(command(index, 1))
  log.takeUpdate(1)
  log.restore({ index: logIndex(9), term: term(2), configuration: cluster([1, 2]) }, logIndex(2))
  assert.equal(log.restoring, true)
  log.append(command(10, 3))
  log.notePersisted(1)
  assert.equal(log.persisted, 2)
  const duty = log.takeUpdate(2)
  assert.deepEqual([duty.snapshot?.index, duty.entries.map((entry) => entry.index)], [9, [10]])
  log.notePersisted(2)
  assert.deepEqual([log.persisted, log.restoring, log.lastIndex], [10, false, 10])
})

void test('entries that are not durable or not committed stay in memory beyond the cache limit', () => {
  const log = new RaftLog(empty, 1)
  for (let index = 1; index <= 5; index++) log.append(command(index, 1))
  log.evict(logIndex(5))
  assert.equal(log.inMemory(logIndex(1)), true)
  log.takeUpdate(1)
  log.notePersisted(1)
  log.evict(logIndex(3))
  const held = [1, 2, 3, 4, 5].filter((index) => log.inMemory(index as LogIndex))
  assert.deepEqual(held, [4, 5])
})

void test('operations that would corrupt the log are assertion failures', () => {
  const log = new RaftLog(empty, 1 << 20)
  log.append(command(1, 2))
  assert.throws(() => log.append(command(3, 2)), { name: 'BrokenInvariant' })
  assert.throws(() => log.append(command(2, 1)), { name: 'BrokenInvariant' })
  assert.throws(() => log.compact({ ...noSnapshot, index: logIndex(1), term: term(2) }), {
    name: 'BrokenInvariant',
  })
})
