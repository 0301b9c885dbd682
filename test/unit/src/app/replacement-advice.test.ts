/*
 * Goal: an error about a member that may have lost its vote names the command that replaces it;
 * other errors do not.
 * Method: errors of the Raft library, most of them made by its own functions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { damaged, missingSegment } from '../../../../raft/log/errors.ts'
import { knownByAnotherLog } from '../../../../raft/protocol/node-errors.ts'
import { withReplacement } from '../../../../src/app/replacement-advice.ts'
import { loadConfig } from '../../../../src/config/load.ts'

const loaded = loadConfig({
  args: ['--name=n2', '--data-dir=d', '--peer-address=10.0.0.2:7443', '--advertise-address=10.0.0.2:6443'],
  readFile: () => assert.fail('no file'),
})
assert.ok(loaded.kind === 'config')
const { config } = loaded
const command =
  /it must be replaced by a new member: orchctl member replace n2 NEW-NAME --peer-address 10\.0\.0\.2:7443 --client-address 10\.0\.0\.2:6443 --pki PKI-DIR, and an empty --data-dir$/

for (const line of [
  damaged('log/1', 512, 'the chain ends').message,
  missingSegment('log/2').message,
  'the log ends at 5, before what the database holds (9): entries that this member acknowledged are lost; it must be replaced by a new member',
  'entries that this member acknowledged are lost; it must be replaced by a new member',
  knownByAnotherLog(['n1', 'n3']),
]) {
  void test(`the error names the command that replaces the member: ${line.slice(0, 60)}`, () => {
    assert.match(withReplacement(line, config), command)
    assert.doesNotMatch(withReplacement(line, config), /\n/)
  })
}

void test('a full disk does not suggest a replacement', () => {
  const full = 'log/1: the disk is full: free space and start again'
  assert.equal(withReplacement(full, config), full)
})

void test('errors about a damaged log or a missing segment warn against restoring an older copy of the directory', () => {
  for (const line of [damaged('log/1', 512, 'the chain ends').message, missingSegment('log/2').message]) {
    assert.match(line, /do not restore an older copy of it/)
    assert.doesNotMatch(line, /undamaged copy/)
  }
})

void test('a single member gets the advice to restore a snapshot', () => {
  const line = missingSegment('log/2').message
  const alone = { ...config, 'peer-address': '' }
  assert.match(
    withReplacement(line, alone),
    /; if it is the only one: orchctl snapshot restore, with an empty --data-dir$/,
  )
})
