/*
 * Goal: pages of one list look at each event once, and what is kept is bounded.
 * Method: a few hundred events; maps taken again and again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Machine } from '../../../../src/store/machine/machine.ts'
import { emptyState } from '../../../../src/store/machine/state.ts'
import { noRevision, revision } from '../../../../src/store/revision.ts'
import { lookOn, UndoMaps } from '../../../../src/store/undo-maps.ts'
import {
  allConfigMaps,
  configMapKey,
  configMapsOf,
  LogWriter,
  ownSession,
  put,
  write,
} from '../../../support/store-kit.ts'

function start(events: number): { machine: Machine; more: (count: number) => void } {
  const machine = new Machine(emptyState())
  const log = new LogWriter()
  const more = (count: number): void => {
    for (let left = count; left > 0; left--) {
      const at = machine.state.revision
      machine.apply([log.command(write(put(configMapKey(`c${at % 50}`, `n${at % 2}`), 'v')))], ownSession)
    }
  }
  more(events)
  return { machine, more }
}

void test('a map goes on where the page before left it', () => {
  const { machine, more } = start(100)
  const maps = new UndoMaps({ maps: 4, keys: 1000 })
  const map = maps.take(machine.state, allConfigMaps, revision(60))
  assert.equal(lookOn(map, 30), false)
  assert.equal(map.upTo, 90)
  assert.equal(lookOn(map, 30), true)
  assert.equal(map.first.size, 40)
  more(5)
  const again = maps.take(machine.state, allConfigMaps, revision(60))
  assert.equal(again, map)
  assert.equal(lookOn(again, 6), true)
  assert.equal(again.first.size, 45)
  assert.equal(again.first.get(configMapKey('c10', 'n0')), 61)
})

void test('another scope, revision or state has another map', () => {
  const { machine } = start(100)
  const maps = new UndoMaps({ maps: 9, keys: 1000 })
  const map = maps.take(machine.state, allConfigMaps, revision(60))
  assert.notEqual(maps.take(machine.state, configMapsOf('n1'), revision(60)), map)
  assert.notEqual(maps.take(machine.state, allConfigMaps, revision(61)), map)
  assert.notEqual(maps.take(start(100).machine.state, allConfigMaps, revision(60)), map)
})

void test('the maps used longest ago are forgotten, by number and by size', () => {
  const { machine } = start(200)
  const maps = new UndoMaps({ maps: 3, keys: 100 })
  const taken = [noRevision, revision(1), revision(2)].map((at) =>
    maps.take(machine.state, allConfigMaps, at),
  )
  assert.equal(maps.take(machine.state, allConfigMaps, noRevision), taken[0])
  const fourth = maps.take(machine.state, allConfigMaps, revision(3))
  assert.equal(maps.take(machine.state, allConfigMaps, noRevision), taken[0])
  assert.notEqual(maps.take(machine.state, allConfigMaps, revision(1)), taken[1])
  for (const map of [taken[0], fourth]) if (map !== undefined) lookOn(map, 1000)
  const fifth = maps.take(machine.state, allConfigMaps, revision(5))
  lookOn(fifth, 1000)
  maps.take(machine.state, allConfigMaps, revision(6))
  assert.equal(maps.take(machine.state, allConfigMaps, revision(5)), fifth)
  assert.notEqual(maps.take(machine.state, allConfigMaps, revision(3)), fourth)
})
