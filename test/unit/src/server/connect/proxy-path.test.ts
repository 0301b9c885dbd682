/*
 * Goal: a proxied path stays below its target, and redirects of the target stay in the proxy.
 * Method: tables of paths and names, with the results of upstream.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  pathAtTarget,
  portNumber,
  proxyTarget,
  rawQuery,
  rewrittenLocation,
} from '../../../../../src/server/connect/proxy-path.ts'

void test('a path has no dot segments and no empty ones, and keeps its slash at the end', () => {
  const rows: readonly (readonly [given: string, expected: string])[] = [
    ['', '/'],
    ['/', '/'],
    ['/../../etc/', '/etc/'],
    ['/a/./b/../c', '/a/c'],
    ['//a///b//', '/a/b/'],
    ['/..', '/'],
    ['/ä b?c#d', '/%C3%A4%20b%3Fc%23d'],
    ['/%2e', '/%252e'],
    ["/$&+,:;=@-._~!*'()", "/$&+,:;=@-._~!*'()"],
    ['/a\r\nb', '/a%0D%0Ab'],
  ]
  for (const [given, expected] of rows) assert.equal(pathAtTarget(given), expected)
})

void test('a target is a name, optionally with a port, or with a scheme and a port', () => {
  const rows: readonly (readonly [id: string, expected: readonly string[] | null])[] = [
    ['a', ['', 'a', '']],
    ['a:80', ['', 'a', '80']],
    ['a:web', ['', 'a', 'web']],
    ['https:a:80', ['https', 'a', '80']],
    ['http:a:', ['http', 'a', '']],
    [':a:80', ['', 'a', '80']],
    ['a:', ['', 'a', '']],
    ...(['', ':80', 'https::80', 'ftp:a:80', 'a:b:c:d', 'HTTP:a:80'] as const).map(
      (id) => [id, null] as const,
    ),
  ]
  for (const [id, expected] of rows) {
    const target = proxyTarget(id)
    assert.deepEqual(target === null ? null : [target.scheme, target.name, target.port], expected, id)
  }
  for (const [text, port] of [
    ['1', 1],
    ['65535', 65_535],
    ['0', null],
    ['65536', null],
    ['8x', null],
    ['', null],
    ['-1', null],
  ] as const)
    assert.equal(portNumber(text), port)
})

void test('a query is passed on as it was sent', () => {
  for (const [target, query] of [
    ['/x', ''],
    ['/x?', ''],
    ['/x?a=%2F&&b', '?a=%2F&&b'],
    ['/x?a?b', '?a?b'],
  ] as const)
    assert.equal(rawQuery(target), query)
})

void test('a redirect to the target goes through the proxy, and others are unchanged', () => {
  const rows: readonly (readonly [given: string, expected: string])[] = [
    ['/x?y=1#z', '/base/x?y=1#z'],
    ['http://10.0.0.1:80/x', '/base/x'],
    ['HTTPS://10.0.0.1:80', '/base/'],
    ['//10.0.0.1:80?x', '/base/?x'],
    ['http://10.0.0.1:81/x', 'http://10.0.0.1:81/x'],
    ['//other/x', '//other/x'],
    ['x/y', 'x/y'],
    ['', ''],
  ]
  for (const [given, expected] of rows)
    assert.equal(rewrittenLocation(given, '10.0.0.1:80', '/base'), expected, given)
})
