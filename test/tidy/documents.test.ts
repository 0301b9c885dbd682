/*
 * Goal: links in the documents are valid, the tables of contents are complete, and lines fit a
 * terminal. Method: reads all Markdown files of the repository.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { anchorsOf, blocksOf, documentPaths, linksOf, readDocument, root } from './markdown.ts'

const columnsMax = 100
const paths = documentPaths()

void test('every relative link of a document leads to a file, and its anchor to a heading', () => {
  let checked = 0
  const broken = paths.flatMap((path) =>
    linksOf(readDocument(path)).flatMap(({ line, target }) => {
      if (/^[a-z]+:/.test(target)) return []
      checked++
      const [file = '', anchor = ''] = target.split('#')
      const linked = file === '' ? path : normalize(join(dirname(path), file))
      const place = `${path}:${line} ${target}`
      if (!existsSync(join(root, linked))) return [`${place}: no such file`]
      if (anchor === '' || !linked.endsWith('.md')) return []
      return anchorsOf(readDocument(linked)).has(anchor) ? [] : [`${place}: no such heading`]
    }),
  )
  assert.ok(checked > 0, 'links were found')
  assert.deepEqual(broken, [])
})

void test('lines of documents wrap at 100 columns, tables and addresses excepted', () => {
  const long = paths.flatMap((path) =>
    readDocument(path)
      .split('\n')
      .flatMap((text, at) => {
        const isExempt = text.trimStart().startsWith('|') || /https?:\/\//.test(text)
        return [...text].length <= columnsMax || isExempt ? [] : [`${path}:${at + 1}`]
      }),
  )
  assert.deepEqual(long, [])
})

void test('README.md and getting started have no command block that e2e/documents does not run', () => {
  for (const path of ['README.md', 'docs/getting-started.md']) {
    const languages = [...readDocument(path).matchAll(/^```(\w*)\n[\s\S]*?^```$/gm)].map(([, name]) => name)
    assert.ok(languages.includes('sh'), path)
    assert.deepEqual([...new Set(languages)].sort(), path === 'README.md' ? ['sh', 'text'] : ['sh'], path)
  }
})

void test('README.md has at most 120 lines', () => {
  const lines = readDocument('README.md').split('\n').length - 1
  assert.ok(lines <= 120, `${lines} lines`)
})

void test('links, headings and blocks are found in Markdown as they are written', () => {
  const sample = '# A `b` (c)\n## A b c\n[x](y.md#z) and `[no](link)`\n```sh\n[no](link) # no heading\n```\n'
  assert.deepEqual([...anchorsOf(sample)], ['a-b-c', 'a-b-c-1'])
  assert.deepEqual(linksOf(sample), [{ line: 3, target: 'y.md#z' }])
  assert.deepEqual(blocksOf(sample, 'sh'), ['[no](link) # no heading\n'])
})

void test('files of raft, src, test and bench that the pages of docs name exist', () => {
  const wrong = paths
    .filter((path) => path.startsWith('docs/') && path !== 'docs/testing/found-by.md')
    .flatMap((path) =>
      [...readDocument(path).matchAll(/`((?:raft|src|test|bench)\/[\w./-]+)`/g)]
        .map(([, named = '']) => named)
        .filter((named) => !existsSync(join(root, named)))
        .map((named) => `${path}: ${named}`),
    )
  assert.deepEqual(wrong, [])
})

void test('every page of docs/ is in a table of contents: docs/README.md, or docs/design/README.md', () => {
  const listed = ['docs/README.md', 'docs/design/README.md'].flatMap((path) =>
    linksOf(readDocument(path)).map(({ target }) =>
      normalize(join(dirname(path), target.split('#')[0] ?? '')),
    ),
  )
  const missing = paths.filter((path) => path.startsWith('docs/') && !listed.includes(path))
  assert.deepEqual(missing, ['docs/README.md'])
})
