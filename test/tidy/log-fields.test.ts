/*
 * Goal: a log line keeps the field that identifies its subject: the logger withholds fields
 * whose names are those of secrets.
 * Method: reads the fields of each log call in the sources that build them in place.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withheldFields } from '../../src/host/logger.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const logCall = /\blog\.(?:debug|info|warn|error)\(\s*\{([^}]*)\}/g
const fieldName = /(?:^|,)\s*(\w+)/g

/** Returns the names of the fields of each log call. */
function loggedFields(text: string): readonly string[] {
  return [...text.matchAll(logCall)].flatMap(([, fields = '']) =>
    [...fields.matchAll(fieldName)].map(([, name = '']) => name),
  )
}

void test('no log call has a field that the logger withholds', () => {
  const files = ['src', 'raft', 'base'].flatMap((directory) =>
    readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(directory, name)),
  )
  let count = 0
  const found = files.flatMap((file) => {
    const fields = loggedFields(readFileSync(join(root, file), 'utf8'))
    count += fields.length
    return fields.filter((name) => withheldFields.includes(name)).map((name) => `${file}: ${name}`)
  })
  assert.ok(count > 100, `${count} fields`)
  assert.deepEqual(found, [], 'name the field after what it identifies, such as object or keyName')
})
