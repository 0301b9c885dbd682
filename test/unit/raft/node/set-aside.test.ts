/*
 * Goal: a member whose state is set aside keeps its log bounded for however long nobody sends it
 * another, and comes back once somebody does.
 * Method: three members over memory whose leader refuses to give its state for as long as the test
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

void test('a state that is set aside while nobody sends another: the log stays bounded, and a later state fits it', async (t) => {
  const { fleet, leader, other } = await fleetOf(t)
  await write(leader, 5)
  await until('the other is there', () => other.machine.appliedMemory === leader.machine.appliedMemory)
  const setAsideAt = other.machine.appliedMemory
  other.machine.quarantineState('test', setAsideAt)
  // As while a repair waits for its turn: no state is asked for.
  other.machine.wanted = null
  await write(leader, 300)
  // As the next start would find it.
  const found = (): MemoryLog['recovered'] => new MemoryLog(fleet.logs.get(other.info.id)).recovered
  const length = (): number => found().lastIndex - found().base.index
  await until('the log is cut', () => found().base.index > setAsideAt && length() <= 4 * retentionEntries)
  const { commit } = leader.node.status
  await until('and ends where it should', () => found().lastIndex >= commit)
  assert.equal(other.machine.appliedMemory, setAsideAt)
  other.machine.wanted = setAsideAt
  await until('another state is here', () => other.machine.room > 0)
  await write(leader, 10)
  await until('it applies on', () => other.machine.appliedMemory === leader.machine.appliedMemory)
  assert.deepEqual(other.machine.lines, leader.machine.lines)
})
