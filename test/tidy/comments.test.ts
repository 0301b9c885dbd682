/*
 * Goal: comments fit a terminal next to a second window.
 * Method: reads all sources; lines with an address or a drawing may be longer.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = normalize(join(fileURLToPath(new URL('.', import.meta.url)), '../../..'))
const folders = ['base', 'raft', 'src', 'tools', 'bench', 'fixtures', 'test']
const columnsMax = 100

function sourcesUnder(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return sourcesUnder(path)
    return entry.name.endsWith('.ts') ? [path] : []
  })
}

function isTooLong(line: string): boolean {
  if (line.length <= columnsMax || !/^\s*(\/\/|\/\*|\*)/.test(line)) return false
  return !/https?:|[─│┌┐└┘├┤►▼▲]|\S {3,}\S/.test(line)
}

void test('lines of comments wrap at 100 columns', () => {
  const found = folders.flatMap(sourcesUnder).flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((line, at) => (isTooLong(line) ? [`${path}:${at + 1}`] : [])),
  )
  assert.deepEqual(found, [])
})

void test('only comments count, and tables in them may be longer', () => {
  const long = 'word '.repeat(30)
  assert.equal(isTooLong(` * ${long}`), true)
  assert.equal(isTooLong(`// ${long}`), true)
  assert.equal(isTooLong(`const text = '${long}'`), false)
  assert.equal(isTooLong(` * name    ${long}`), false)
})
