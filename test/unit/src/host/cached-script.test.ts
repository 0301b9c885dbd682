/*
 * Goal: a script runs whatever the state of its recorded compiled form.
 * Method: a script in a directory of the test, with a form of itself, of another script, of no
 * script, and without one. It loads another script by its address.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { runCachedScript } from '../../../../src/host/cached-script.ts'

const found = globalThis as { cachedScriptTest?: unknown }

/** A script that stores `value` and what it gets from `runCachedScript`. */
const scriptOf = (value: string): string =>
  `(function (require, module, __dirname, address, importModule) {
    const found = ['${value}', __dirname, address, require('node:path').sep]
    const other = importModule(new URL('other.js', address).href)
    globalThis.cachedScriptTest = other.then(({ name }) => [...found, name])
    module.exports = { value: '${value}' }
  })`

const otherScript = `(function (require, module) { module.exports = { name: 'other' } })`

const forms: Readonly<Record<string, Buffer | null>> = {
  'its own form': new Script(scriptOf('right')).createCachedData(),
  'the form of a longer script': new Script(scriptOf('much longer')).createCachedData(),
  'a form that is cut off': new Script(scriptOf('right')).createCachedData().subarray(0, 100),
  'a form that is empty': Buffer.alloc(0),
  'bytes of something else': Buffer.from('not compiled'),
  'no form': null,
}

for (const [what, form] of Object.entries(forms)) {
  void test(`a script runs with ${what}`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-script-'))
    t.after(() => {
      delete found.cachedScriptTest
      rmSync(directory, { recursive: true, force: true })
    })
    const path = join(directory, 'program.cjs')
    writeFileSync(path, scriptOf('right'))
    if (form !== null) writeFileSync(`${path}.compiled`, form)
    writeFileSync(join(directory, 'other.cjs'), otherScript)
    const address = pathToFileURL(path).href
    assert.deepEqual(runCachedScript(path), { value: 'right' })
    assert.deepEqual(await found.cachedScriptTest, ['right', directory, address, '/', 'other'])
  })
}
