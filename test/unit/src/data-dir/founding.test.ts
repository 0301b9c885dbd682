/*
 * Goal: the founding record is kept as long as the log, whatever later flags are; damage is
 * detected.
 * Method: a directory, before and after its log begins; the file truncated and changed at every
 * place.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartError } from '../../../../src/config/start-error.ts'
import { fingerprintOf, foundingOf } from '../../../../src/data-dir/founding.ts'

const member = (at: number): { name: string; peerAddress: string; clientAddress: string } => ({
  name: `n${at}`,
  peerAddress: `10.0.0.${at}:7443`,
  clientAddress: `10.0.0.${at}:6443`,
})
const reported: string[] = []
const logger = { warn: ({ path }: { readonly path: string }): void => void reported.push(path) }
const three = [member(1), member(2), member(3)]

void test('the fingerprint is of names and addresses, not of their order', () => {
  assert.equal(fingerprintOf(three), fingerprintOf([...three].reverse()))
  const others = [
    three.slice(1),
    [...three, member(4)],
    [member(1), member(2), { ...member(3), name: 'n4' }],
    [member(1), member(2), { ...member(3), peerAddress: '10.0.0.3:7444' }],
    [member(1), member(2), { ...member(3), clientAddress: '10.0.0.3:6444' }],
  ]
  for (const other of others) assert.notEqual(fingerprintOf(other), fingerprintOf(three))
})

void test('until the log begins the flag counts, and afterwards the recorded value', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-founding-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const log = join(directory, 'log')
  assert.equal(foundingOf(directory, log, three.slice(1), logger), fingerprintOf(three.slice(1)))
  assert.equal(
    foundingOf(directory, log, three, logger),
    fingerprintOf(three),
    'corrected before the log began',
  )
  mkdirSync(log)
  const others = [member(1), member(9)]
  assert.equal(
    foundingOf(directory, log, others, logger),
    fingerprintOf(others),
    'a crash before anything was written',
  )
  writeFileSync(join(log, '000000000001.new'), '')
  assert.equal(
    foundingOf(directory, log, three, logger),
    fingerprintOf(three),
    'nor does half a segment count',
  )
  writeFileSync(join(log, '000000000001.log'), '')
  assert.equal(foundingOf(directory, log, others, logger), fingerprintOf(three))

  const path = join(directory, 'founding')
  const text = readFileSync(path)
  for (let at = 0; at < text.length; at++) {
    const flipped = Buffer.from(text)
    flipped[at] = (flipped[at] ?? 0) ^ 1
    writeFileSync(path, flipped)
    assert.throws(() => foundingOf(directory, log, three, logger), StartError)
    writeFileSync(path, text.subarray(0, at))
    assert.throws(() => foundingOf(directory, log, three, logger), /founding is damaged: remove it/)
  }
  rmSync(path)
  assert.deepEqual(reported, [])
  assert.equal(foundingOf(directory, log, three, logger), '', 'not known: not compared')
  assert.deepEqual(reported, [path], 'and reported')
})

void test('a single member has no fingerprint to compare', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-founding-'))
  t.after(() => rmSync(directory, { recursive: true }))
  assert.equal(foundingOf(directory, join(directory, 'log'), [], logger), '')
  assert.equal(foundingOf(directory, join(directory, 'log'), [member(1)], logger), '')
})
