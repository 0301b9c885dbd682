// Goal: which objects a selector selects, and how a malformed one is refused. Method: tables.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causesOf } from '../../../../../src/api/errors/findings.ts'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { parseFieldSelector } from '../../../../../src/api/selectors/field-selector.ts'
import {
  parseLabelSelector,
  selectorOfObject,
  validateLabelSelector,
} from '../../../../../src/api/selectors/label-selector.ts'

const labels = { app: 'web', tier: 'front', size: '7' }

const matching = [
  '',
  'app=web',
  'app==web',
  ' app = web , tier=front',
  'app!=db',
  'missing!=x',
  'app',
  '!missing',
  'app in (web,db)',
  'app in (db, web)',
  'app notin (db)',
  'missing notin (a,b)',
  'size>6',
  'size<8',
  'app=web,!missing,size>6,tier in (front)',
]
const other = [
  'app=db',
  'app!=web',
  '!app',
  'missing',
  'app in ()',
  'app notin (web)',
  'missing=',
  'size>7',
  'app>1',
]

void test('spec 4.2: labelSelector selects by equality, sets, presence and order', () => {
  for (const text of matching) assert.equal(parseLabelSelector(text).matches(labels), true, text)
  for (const text of other) assert.equal(parseLabelSelector(text).matches(labels), false, text)
  assert.equal(parseLabelSelector('app').matches(null), false)
  assert.equal(parseLabelSelector('toString').matches({}), false)
})

void test('a malformed label selector is a 400 that names what was found and what was expected', () => {
  for (const [text, words] of [
    ['a=b=c', "unable to parse requirement: found '=', expected: ',' or 'end of string'"],
    ['a,', "unable to parse requirement: found '', expected: identifier after ','"],
    ['a in b', "unable to parse requirement: found 'b', expected: '('"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    [',a', "unable to parse requirement: found ',', expected: !, identifier, or 'end of string'"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a!b', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
  ] as const) {
    assert.throws(
      () => parseLabelSelector(text),
      (error) => error instanceof ApiError && error.code === 'BadRequest' && error.message === words,
      text,
    )
  }
  for (const text of [
    '-a=b',
    'a=b_',
    'a>x',
    'a/b/c',
    `a=${'b'.repeat(64)}`,
    '()',
    'a=>b',
    'a'.repeat(20_000),
  ]) {
    assert.throws(() => parseLabelSelector(text), ApiError, text.slice(0, 40))
  }
})

void test('a selector object selects like its string form', () => {
  const selector = selectorOfObject({
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['front', 'back'] },
      { key: 'gone', operator: 'DoesNotExist' },
    ],
  })
  assert.equal(selector.matches(labels), true)
  assert.equal(selector.matches({ ...labels, gone: '' }), false)
  assert.equal(selectorOfObject({}).matches(null), true)
})

void test('a selector object is validated as upstream does', () => {
  const selector = {
    matchLabels: { 'a b': 'c' },
    matchExpressions: [
      { key: 'a', operator: 'In' },
      { key: 'a', operator: 'Is' },
    ],
  }
  const causes = causesOf((found) => {
    validateLabelSelector(selector, 'spec.selector', found)
  })
  assert.deepEqual(
    causes.map((cause) => `${cause.field} ${cause.reason}`),
    [
      'spec.selector.matchLabels FieldValueInvalid',
      'spec.selector.matchExpressions[0].values FieldValueRequired',
      'spec.selector.matchExpressions[1].operator FieldValueInvalid',
    ],
  )
})

void test('spec 4.2: fieldSelector selects by name and namespace', () => {
  const read = (field: string): string => (field === 'metadata.name' ? 'a' : 'n')
  assert.equal(parseFieldSelector('metadata.name=a,metadata.namespace!=m').matches(read), true)
  assert.equal(parseFieldSelector('metadata.name==b').matches(read), false)
  assert.equal(parseFieldSelector('metadata.name=a').exact('metadata.name'), 'a')
  assert.equal(parseFieldSelector('metadata.name!=a').exact('metadata.name'), null)
})

void test('a field value may contain escaped characters', () => {
  const selector = parseFieldSelector('metadata.name=a\\,b\\=c\\\\')
  assert.equal(selector.requirements[0]?.value, 'a,b=c\\')
})

void test('an unsupported field or a malformed field selector is a 400', () => {
  for (const text of ['spec.x=1', 'metadata.name', 'metadata.name=a=b', 'metadata.name=\\x']) {
    assert.throws(
      () => parseFieldSelector(text),
      (error) => error instanceof ApiError && error.code === 'BadRequest',
      text,
    )
  }
})
