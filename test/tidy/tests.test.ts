/*
 * Goal: tests are written in one form, and the lists of found bugs and of mutants name tests that
 * exist.
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

/** A cell of the list of mutants: a test file, and its title. */
const noticedBy = /\| (\S+): `([^`|]+)` +\|/

void test('every test that the list of mutants names exists', () => {
  const rows = textOf('test/mutants/README.md').match(/^\| `.*$/gm) ?? []
  assert.ok(rows.length > 200, `${rows.length} mutants`)
  const missing = rows.filter((row) => {
    const [, file = '', title = ''] = noticedBy.exec(row) ?? []
    return !hasTest(file, title) || hasTest(file, title.slice(0, title.length / 2))
  })
  assert.deepEqual(missing, [])
})

/**
 * Returns whether a test file, or a contract suite of the same name, has a test of this title.
 * Words that are inserted into a title must be a text of the file; other inserted values may differ
 * from run to run.
 */
function hasTest(file: string, named: string): boolean {
  const paths = [`test/${file}.test.ts`, `test/${file}.ts`].filter((path) => sources.has(path))
  const text = paths.map(textOf).join('\n')
  return [...text.matchAll(title)].some(([, single, double, template]) => {
    const parts = (single ?? double ?? template ?? '').replaceAll("\\'", "'").split(/\$\{[^}]*\}/)
    const isCut = named.length >= cutTitle && parts[0]?.startsWith(named) === true
    return isCut || isOf(parts, named, text)
  })
}

/** @param parts the title in the source, without what is inserted */
function isOf(parts: readonly string[], named: string, text: string): boolean {
  const pattern = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('(.+)')
  const inserted = new RegExp(`^${pattern}$`).exec(named)?.slice(1)
  return inserted?.every((value) => !isWords.test(value) || text.includes(`'${value}'`)) === true
}

const isWords = /^(?!null$)[A-Za-z -]+$/
/** The list has the first 100 characters of a title, without a space at the end. */
const cutTitle = 99
const sources = new Set(sourcesUnder('test'))
const title = /(?:void test|check)\(\s*(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`)/g
