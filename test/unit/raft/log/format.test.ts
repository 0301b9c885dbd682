/*
 * Goal: logs on disk today stay readable.
 * Method: the bytes of a small log are pinned; a change of them raises `formatVersion` and keeps
 * reading the old ones. Invalid configurations are refused.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { checksum } from '../../../../raft/log/checksum.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import { decodeConfiguration, encodeConfiguration } from '../../../../raft/log/configuration-codec.ts'
import { formatVersion, segmentName, segmentNumber } from '../../../../raft/log/layout.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import {
  commands,
  configurationEntry,
  configurationOf,
  empty,
  hard,
  meta,
  write,
} from '../../../conformance/log-store.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'

void test('the bytes of format 2 do not change', () => {
  assert.equal(formatVersion, 2)
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = Wal.open({ disk, random: new SeededRandom(2), segmentBytes: 4096 })
  const hash = createHash('sha256')
  const steps = [
    () => wal.append([write([configurationEntry(1, 1, 1, 2, 3), empty(2, 1)], hard(1, 2, 0))]),
    () => wal.append([write(commands(3, 40, 1))]),
    () => wal.append([write(commands(30, 60, 2), hard(2, null, 29))]),
    () => wal.compact(meta(2, 1, 1, 2, 3)),
    () => wal.append([{ snapshot: meta(100, 3, 1, 2), entries: commands(101, 102, 3), hardState: null }]),
  ]
  for (const step of steps) {
    step()
    for (const name of disk.list().toSorted()) hash.update(name).update(disk.contents(name))
  }
  wal.close()
  assert.equal(hash.digest('hex'), '10acf5797ee942c4ff157c60302908d4fddaa1e19971b33ab06a909cbc344c86')
})

void test('the checksum is CRC-32 and continues', () => {
  const text = new TextEncoder().encode('123456789')
  assert.equal(checksum(text, 0), 0xcbf43926)
  assert.equal(checksum(text.subarray(4), checksum(text.subarray(0, 4), 0)), 0xcbf43926)
})

void test('segment names sort like their numbers', () => {
  const numbers = [1, 9, 10, 99, 100, 123_456_789_012]
  const names = numbers.map(segmentName)
  assert.deepEqual(names.toSorted(), names)
  assert.deepEqual(names.map(segmentNumber), numbers)
  for (const other of ['1.log', 'LOCK', '000000000001.new', '0000000000011.log', 'x000000000001.log']) {
    assert.equal(segmentNumber(other), null)
  }
})

void test('a configuration without the fields of added members decodes as one of founders', () => {
  const old =
    '{"voters":[1],"votersOutgoing":null,"learners":[],"learnersNext":[],"autoLeave":false,"members":[{"id":1,' +
    '"name":"n1","role":"voter","wantedRole":"voter","peerAddress":"n1.example:7443",' +
    '"clientAddress":"n1.example:6443","version":"0.1.0","featureLevel":1}]}'
  const bytes = new TextEncoder().encode(old)
  assert.deepEqual(decodeConfiguration(bytes), configurationOf(1))
  assert.deepEqual(encodeConfiguration(configurationOf(1)), bytes, 'and is still encoded the same')
})

void test('the fields of an added member survive encoding', () => {
  const [member] = configurationOf(1).members
  assert.ok(member)
  const added = { ...member, replaces: nodeId(7), addedMs: 1_790_000_000_000 }
  const configuration = { ...configurationOf(1), members: [added] }
  assert.deepEqual(decodeConfiguration(encodeConfiguration(configuration)), configuration)
  for (const spoiled of [
    { ...added, replaces: 0 },
    { ...added, replaces: '7' },
    { ...added, addedMs: -1 },
    { ...added, addedMs: null },
  ]) {
    const bytes = new TextEncoder().encode(JSON.stringify({ ...configuration, members: [spoiled] }))
    assert.equal(decodeConfiguration(bytes), null)
  }
})

void test('a configuration survives encoding, and invalid ones are refused', () => {
  const configuration = { ...configurationOf(1, 2, 2 ** 53 - 1), votersOutgoing: configurationOf(1).voters }
  assert.deepEqual(decodeConfiguration(encodeConfiguration(configuration)), configuration)
  const spoil: readonly ((value: Record<string, unknown>) => void)[] = [
    (value) => delete value['voters'],
    (value) => (value['voters'] = ['1']),
    (value) => (value['voters'] = [0]),
    (value) => (value['learners'] = [1.5]),
    (value) => (value['learnersNext'] = null),
    (value) => (value['votersOutgoing'] = 'none'),
    (value) => (value['autoLeave'] = 1),
    (value) => (value['members'] = [{ id: 1 }]),
  ]
  for (const change of spoil) {
    const value: Record<string, unknown> = { ...configuration }
    change(value)
    assert.equal(decodeConfiguration(new TextEncoder().encode(JSON.stringify(value))), null)
  }
  for (const text of ['', '{', 'null', '[]', '"x"'])
    assert.equal(decodeConfiguration(new TextEncoder().encode(text)), null)
  assert.equal(decodeConfiguration(new Uint8Array([0xff, 0xfe])), null)
})
