/*
 * Goal: the texts of HTTP: queries, durations, warnings, and the checks of `/healthz`.
 * Method: the pure functions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDuration } from '../../../../../src/server/http/duration.ts'
import { firstOf, parseQuery } from '../../../../../src/server/http/query.ts'
import { healthText } from '../../../../../src/server/routes/health.ts'
import { warningHeader } from '../../../../../src/server/http/warning.ts'

void test('a query keeps repeated names, empty values and odd names apart', () => {
  const query = parseQuery('a=1&a=2&b&c=&d=x+y%26z&__proto__=p&=v')
  assert.deepEqual(
    [...query],
    [
      ['a', ['1', '2']],
      ['b', ['']],
      ['c', ['']],
      ['d', ['x y&z']],
      ['__proto__', ['p']],
      ['', ['v']],
    ],
  )
  assert.equal(firstOf(query, 'a'), '1')
  assert.equal(firstOf(query, 'none'), null)
  assert.equal(parseQuery('').size, 0)
})

void test('durations are parsed as Go formats them', () => {
  const good = {
    '30s': 30_000,
    '1m30s': 90_000,
    '500ms': 500,
    '1.5h': 5_400_000,
    '0': 0,
    '-2s': -2000,
    '.5s': 500,
  }
  for (const [text, ms] of Object.entries(good)) assert.equal(parseDuration(text), ms, text)
  for (const text of ['', '5', 's', '1x', '1s1', '1 s', '1e3s', '9'.repeat(40) + 's', '..s']) {
    assert.equal(parseDuration(text), null, text)
  }
})

void test('a warning is one line of printable text, in quotes', () => {
  assert.equal(warningHeader('a "b" \\c\r\nX: y\u0085\u2028\ud800z'), '299 - "a \\"b\\" \\\\c X: y z"')
  assert.ok(warningHeader('w'.repeat(1000)).length < 300)
})

void test('a warning keeps the letters of every language, as the UTF-8 bytes that clients read', () => {
  const read = (header: string): string => Buffer.from(header, 'latin1').toString('utf8')
  assert.equal(
    read(warningHeader('Gr\u00fc\u00dfe, \u20ac, \u{1f600}')),
    '299 - "Gr\u00fc\u00dfe, \u20ac, \u{1f600}"',
  )
  const long = warningHeader(`x${'\u20ac'.repeat(1000)}`)
  assert.ok(long.length < 300)
  assert.match(read(long), /^299 - "x\u20ac+"$/u)
})

void test('spec 4.5: health returns ok, or each check when verbose or failing', () => {
  const check = (name: string, failure: string | null) => ({ name, live: true, failure: () => failure })
  const well = { name: 'livez', checks: [check('ping', null), check('leader', null)] }
  assert.deepEqual(healthText(well, { verbose: false, exclude: [] }), { code: 200, text: 'ok', failures: [] })
  assert.equal(
    healthText(well, { verbose: true, exclude: ['leader', 'other'] }).text,
    '[+]ping ok\n[+]leader excluded: ok\n' +
      'warn: some health checks cannot be excluded: no matches for "other"\nhealthz check passed\n',
  )
  const ill = { name: 'readyz', checks: [check('ping', null), check('leader', 'the reason')] }
  assert.deepEqual(healthText(ill, { verbose: false, exclude: [] }), {
    code: 500,
    text: '[+]ping ok\n[-]leader failed: reason withheld\nreadyz check failed\n',
    failures: ['leader: the reason'],
  })
})
