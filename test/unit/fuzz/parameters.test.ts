/*
 * Goal: any query string is accepted, or rejected with an API error.
 * Method: texts of the characters of the grammars, and valid ones with a few changes, for every
 * parser of parameters. Some are so long that a parser of quadratic cost would not finish. A
 * failure prints how to repeat it alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../base/random.ts'
import { ApiError } from '../../../src/api/errors/api-error.ts'
import { parseFieldSelector } from '../../../src/api/selectors/field-selector.ts'
import { parseLabelSelector } from '../../../src/api/selectors/label-selector.ts'
import { readContinueToken, writeContinueToken } from '../../../src/registry/calls/continue-token.ts'
import {
  readGetOptions,
  readListOptions,
  readWatchOptions,
} from '../../../src/registry/calls/query-options.ts'
import { parseQuery } from '../../../src/server/http/query.ts'
import { requestInfo } from '../../../src/server/http/request-info.ts'
import { revision } from '../../../src/store/revision.ts'
import { configMapKey, configMapsOf } from '../../../fixtures/store-kit.ts'

const signs = [
  ...[
    '=',
    '==',
    '!=',
    '!',
    ',',
    '(',
    ')',
    '>',
    '<',
    ' ',
    '\t',
    '\\',
    '\\,',
    '&',
    '+',
    '%',
    '%2',
    '%3D',
    '%00',
    '/',
  ],
  ...[
    'a',
    'in',
    'notin',
    ' in (',
    'metadata.name',
    'metadata.namespace',
    'x.io/y',
    '0',
    '-1',
    '9'.repeat(20),
  ],
  ...[
    'limit',
    'continue',
    'watch',
    'resourceVersion',
    'Exact',
    'NotOlderThan',
    'fieldSelector',
    'labelSelector',
  ],
  ...[
    'sendInitialEvents',
    'é',
    '\u0000',
    '\ud800',
    '__proto__',
    'constructor',
    '.',
    '..',
    '?',
    '#',
    '_',
    '-',
  ],
]

const scope = { namespace: 'default', prefix: configMapsOf('default'), labelSelector: '', fieldSelector: '' }
const key = Buffer.alloc(32, 7)
const position = { revision: revision(5), after: configMapKey('a'), remaining: 3 }

const targets: readonly {
  readonly name: string
  readonly right: readonly string[]
  readonly read: (text: string) => unknown
}[] = [
  {
    name: 'label selectors',
    right: ['a=b,c!=d', 'a in (b,c),!d', 'x.io/y notin (), z', 'a>1,b<2'],
    read: (text) => parseLabelSelector(text).matches({ a: 'b', in: '1' }),
  },
  {
    name: 'field selectors',
    right: ['metadata.name=a,metadata.namespace!=b', 'metadata.name==a\\,b\\=\\\\'],
    read: (text) => parseFieldSelector(text).matches(() => 'a'),
  },
  {
    name: 'parameters of reads',
    right: [
      'limit=5&continue=abc&labelSelector=a%3Db',
      'watch=1&resourceVersion=7&timeoutSeconds=3&allowWatchBookmarks=true',
      'resourceVersion=7&resourceVersionMatch=Exact&limit=2',
      'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    ],
    read: (text) => {
      const query = parseQuery(text)
      // Each reader runs separately, because one may accept what another rejects.
      const taken = [readGetOptions, readListOptions, readWatchOptions].map((read) =>
        refusedOr(() => read(query)),
      )
      // If all readers reject the query, the error of one is thrown.
      return taken.includes(true) ? taken : readListOptions(query)
    },
  },
  {
    name: 'first lines',
    right: [
      '/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Da&watch=1',
      '/apis/x.io/v1/y/z/status',
    ],
    read: (text) => requestInfo('GET', text.startsWith('/') ? text : `/api/v1/configmaps?${text}`),
  },
  {
    name: 'continue tokens',
    right: [writeContinueToken(position, scope, key)],
    read: (text) => {
      const read = readContinueToken(text, scope, { key, bytesMax: 2048 })
      // Only the written text is accepted, although base64 has two spellings of the last bits.
      assert.deepEqual(read, position)
      return read
    },
  },
]

const rounds = 4000

for (const target of targets) {
  void test(`${target.name}: every input gives a value or a clear error`, () => {
    const only = process.env['SEED']
    const seeds = only === undefined ? Array.from({ length: rounds }, (_, at) => at + 1) : [Number(only)]
    const counts = { taken: 0, refused: 0 }
    for (const right of target.right) target.read(right)
    for (const seed of seeds) {
      const text = textOf(new SeededRandom(seed), target.right)
      try {
        if (refusedOr(() => target.read(text))) counts.taken++
        else counts.refused++
      } catch (cause) {
        const repeat = `SEED=${seed} node --test --test-name-pattern='${target.name}' dist/test/unit/fuzz/parameters.test.js`
        throw new Error(`${repeat} repeats this: ${String(cause)}`, { cause })
      }
    }
    const isVaried = counts.refused > 100 && counts.taken > 100
    assert.ok(only !== undefined || isVaried, JSON.stringify(counts))
  })
}

/** @returns false when it was rejected with the expected error */
function refusedOr(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    assert.equal(cause.code, 'BadRequest')
    assert.ok(cause.message !== '' && cause.message.length < 70_000)
    return false
  }
}

function textOf(random: SeededRandom, right: readonly string[]): string {
  const draw = random.below(10)
  if (draw < 4) return Array.from({ length: 1 + random.below(12) }, () => random.pick(signs)).join('')
  if (draw < 5)
    return `${random.pick(right)}${random.pick(signs).repeat(1 + random.below(8000))}${random.pick(signs)}`
  let text = random.pick(right)
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = random.below(text.length + 1)
    const behind = at + random.below(3)
    text = text.slice(0, at) + (random.chance(0.6) ? random.pick(signs) : '') + text.slice(behind)
  }
  return text
}
