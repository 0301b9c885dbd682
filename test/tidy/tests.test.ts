/*
 * Goal: tests are written in one form, and the list of found bugs names tests that exist.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './markdown.ts'
import { sourcesUnder } from './sources.ts'
import { suites } from '../runner/suites.ts'

const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')
const testFiles = sourcesUnder('test').filter((path) => path.endsWith('.test.ts'))

const otherForms = [
  ['calls test or describe without void', /^\s*(?:test|describe)(?:\.\w+)?\(/m],
  ['uses it or suite', /^\s*(?:void )?(?:it|suite)(?:\.\w+)?\(/m],
  [
    'imports the default of node:test, or another name',
    /^import (?!type)(?:\w+|\*|[^}]* as ).*'node:test'$/m,
  ],
] as const

void test('every test is declared as `void test(`, imported by its name from node:test', () => {
  assert.ok(testFiles.length > 400, `${testFiles.length} files`)
  const wrong = testFiles.flatMap((path) => {
    const text = textOf(path)
    return otherForms.filter(([, form]) => form.test(text)).map(([what]) => `${path} ${what}`)
  })
  assert.deepEqual(wrong, [])
})

void test('every test that the list of found bugs names exists', () => {
  const names = [...textOf('docs/testing/found-by.md').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  const folders = [...suites.map(({ name }) => name), 'long']
  const files = names.filter((name) => folders.some((folder) => name.startsWith(`${folder}/`)))
  const titles = names.filter((name) => /^(?:spec|paper|thesis) \d.*: /.test(name))
  assert.ok(files.length > 100 && titles.length > 0, `${files.length} files, ${titles.length} titles`)
  const missing = files.filter((name) => {
    const path = join(root, 'test', name.replace(/\.test\.ts$/, ''))
    return !['', '.ts', '.test.ts', '.txt'].some((ending) => existsSync(`${path}${ending}`))
  })
  const texts = testFiles.map(textOf)
  const untitled = titles.filter((title) => !texts.some((text) => text.includes(title)))
  assert.deepEqual([...missing, ...untitled], [])
})
