/*
 * Goal: the references of flags, commands and metrics match the program.
 * Method: generates them again and compares.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readDocument, root } from './markdown.ts'
import { references, referenceText } from './references.ts'

for (const [path, make] of Object.entries(references)) {
  void test(`${path} matches the declarations`, async () => {
    const kept = existsSync(join(root, path)) ? readDocument(path) : ''
    assert.equal(await referenceText(make), kept, 'stale: make docs writes it again')
  })
}
