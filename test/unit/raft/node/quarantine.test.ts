/*
 * Goal: a member with a quarantined state keeps its log bounded for however long no snapshot
 * arrives, and recovers once one does.
 * Method: three members over memory whose leader refuses to send its state for as long as the test
 * wants.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { defaultLimits, MemoryLog } from '../../../../raft/index.ts'
import { RaftFleet, soon, until } from '../../../support/drivers/raft-cluster.ts'
import type { FleetMember } from '../../../support/drivers/raft-cluster.ts'

const retentionEntries = 20
const payload = new Uint8Array(100)

async function fleetOf(
  t: TestContext,
): Promise<{ fleet: RaftFleet; leader: FleetMember; other: FleetMember }> {
  const fleet = new RaftFleet('inline', { ...defaultLimits, retentionEntries, retentionBytes: 2000 })
  t.after(() => fleet.close())
  await fleet.found(1, 2, 3)
  const leader = await fleet.leader()
  const other = [...fleet.members.values()].find((member) => member !== leader)
  assert.ok(other !== undefined)
  return { fleet, leader, other }
}

async function write(member: FleetMember, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const { kind } = await member.node.propose(payload, soon(60_000))
    assert.equal(kind, 'applied')
  }
}

void test('the log of a quarantined state stays bounded while no snapshot arrives, and a later snapshot fits it', async (t) => {
  const { fleet, leader, other } = await fleetOf(t)
  await write(leader, 5)
  await until('the other has connected', () => other.machine.appliedMemory === leader.machine.appliedMemory)
  const quarantinedAt = other.machine.appliedMemory
  other.machine.quarantineState('test', quarantinedAt)
  // No snapshot is requested, as while a repair backs off.
  other.machine.wanted = null
  await write(leader, 300)
  // Returns what the next start would recover.
  const found = (): MemoryLog['recovered'] => new MemoryLog(fleet.logs.get(other.info.id)).recovered
  const length = (): number => found().lastIndex - found().base.index
  await until(
    'the log is compacted',
    () => found().base.index > quarantinedAt && length() <= 4 * retentionEntries,
  )
  const { commit } = leader.node.status
  await until('and ends at the right index', () => found().lastIndex >= commit)
  assert.equal(other.machine.appliedMemory, quarantinedAt)
  other.machine.wanted = quarantinedAt
  await until('another state is installed', () => other.machine.capacity > 0)
  await write(leader, 10)
  await until('it applies entries again', () => other.machine.appliedMemory === leader.machine.appliedMemory)
  assert.deepEqual(other.machine.lines, leader.machine.lines)
})
