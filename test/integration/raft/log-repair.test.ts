/*
 * Goal: a member whose log is damaged above what its state holds gets the missing entries from its
 * peers, and takes part again with everything it promised.
 * Method: three members with threads, gRPC and files, whose states are empty at each start; one is
 * stopped, its log damaged in the middle, and started.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { groupMagic, sectorBytes } from '../../../raft/log/layout.ts'
import { RaftFleet, soon, until } from '../../support/drivers/raft-cluster.ts'

void test('a member with a damaged log fetches the missing entries and takes part again', async (t) => {
  const fleet = new RaftFleet('threads')
  t.after(() => fleet.close())
  await fleet.found(1, 2, 3)
  const leader = await fleet.leader()
  const propose = async (line: string): Promise<void> => {
    const result = await leader.node.propose(new TextEncoder().encode(line.padEnd(700, '.')), soon(10_000))
    assert.equal(result.kind, 'applied')
  }
  for (let at = 0; at < 40; at++) await propose(`line ${at}`)
  const victim = [...fleet.members.values()].find((member) => member !== leader) ?? assert.fail('a follower')
  await until('it has them all', () => victim.machine.lines.length === 40)
  await fleet.stop(victim.info.id)
  const path = join(fleet.logDirectory(victim.info), '000000000001.log')
  const bytes = readFileSync(path)
  const groups: number[] = []
  for (let at = 0; at < bytes.length; at += sectorBytes)
    if (bytes.readUInt32LE(at) === groupMagic) groups.push(at)
  const middle = groups[Math.floor(groups.length / 2)] ?? assert.fail('groups')
  bytes.fill(0xee, middle, middle + 2 * sectorBytes)
  writeFileSync(path, bytes)
  await propose('while it is away')

  const again = await fleet.start(victim.info)
  await until('it has what the leader has', () => again.machine.lines.length === 41)
  assert.deepEqual(again.machine.lines, leader.machine.lines)
  assert.equal(again.logNotices.length, 1)
  assert.match(
    again.logNotices[0] ?? '',
    /^repaired: log 0+1\.log is damaged at byte \d+: .*entries \d+ to \d+ came from a peer/,
  )
  // The repaired member counts again: with the third member away, nothing is committed without it.
  const third =
    [...fleet.members.values()].find((one) => one !== leader && one !== again) ?? assert.fail('a third')
  await fleet.stop(third.info.id)
  await propose('with its vote')
  await until('it has that too', () => again.machine.lines.length === 42)
})
