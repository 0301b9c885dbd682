/*
 * Goal: the example of raft/README.md works.
 * Method: it is a source file that this test runs; the document shows the same text.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { example } from './readme-example.ts'

const root = new URL('../../../../', import.meta.url)

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(path, root)), 'utf8')
}

void test('three members of the example replicate a line, and another member reads it', async () => {
  assert.deepEqual(await example(), ['hello'])
})

void test('raft/README.md shows the example as it is', () => {
  const [, shown] = /^```ts\n([\s\S]*?)^```$/m.exec(read('raft/README.md')) ?? []
  assert.equal(shown, read('test/integration/raft/readme-example.ts'))
})
