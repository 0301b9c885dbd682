import assert from 'node:assert/strict'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { runTranscript } from './runner.ts'

/*
 * Goal: the output of the core in the situations that matter is recorded, so that a change of
 * behaviour shows as a diff of text.
 * Method: the commands of each transcript are run and its output compared; UPDATE=1 records the
 * current output.
 */

// The transcripts stay in the tree; this file runs from dist/.
const directory = resolve(import.meta.dirname, '../../../test/scenario')
const names = readdirSync(directory).filter((name) => name.endsWith('.txt'))

for (const name of names.sort()) {
  void test(`the output of transcript ${name} is unchanged`, () => {
    const file = join(directory, name)
    const recorded = readFileSync(file, 'utf8')
    const now = runTranscript(recorded)
    if (process.env['UPDATE'] === '1') writeFileSync(file, now)
    else assert.equal(now, recorded)
  })
}

void test('there are transcripts', () => {
  assert.ok(names.length >= 60, `${names.length} transcripts were found in ${directory}`)
})

void test('each transcript begins with what it shows, and the table of sections names it', () => {
  const table = readFileSync(join(directory, 'README.md'), 'utf8')
  for (const name of names) {
    assert.match(readFileSync(join(directory, name), 'utf8'), /^# /, name)
    assert.ok(table.includes(`\`${name.replace('.txt', '')}\``), `${name} is in the table`)
  }
})
