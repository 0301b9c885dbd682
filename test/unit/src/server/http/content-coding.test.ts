/*
 * Goal: RFC 9110 12.5.3 and 13.1.2: which content codings a client accepts, and which documents it
 * already has.
 * Method: a row for every form of the headers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codingsOf } from '../../../../../src/server/http/content-coding.ts'
import { isKnown } from '../../../../../src/server/responses/static-document.ts'

void test('Accept-Encoding: listed codings, weights, `*`, and an absent header', () => {
  const rows: readonly (readonly [header: string | undefined, gzip: boolean, identity: boolean])[] = [
    [undefined, false, true],
    ['', false, true],
    ['gzip', true, true],
    ['GZIP', true, true],
    ['x-gzip', true, true],
    ['gzip, deflate, br', true, true],
    ['deflate, br', false, true],
    [' gzip ; q=0.5 ', true, true],
    ['gzip;q=0', false, true],
    ['gzip;q=0.0', false, true],
    ['gzip;q=much', false, true],
    ['gzip;q=1.5', false, true],
    ['gzip;q=0.5, identity', false, true],
    ['gzip;q=0.5, identity;q=0.5', true, true],
    ['identity', false, true],
    ['identity;q=0', false, false],
    ['identity;q=0, gzip', true, false],
    ['*', true, true],
    ['*;q=0', false, false],
    ['*;q=0, gzip', true, false],
    ['*;q=0, identity', false, true],
    ['gzip;q=0, *', false, true],
    [',,;;,', false, true],
  ]
  for (const [header, gzip, identity] of rows) assert.deepEqual(codingsOf(header), { gzip, identity }, header)
})

void test('a header with thousands of codings is parsed to its end', () => {
  assert.deepEqual(codingsOf(`${'a;q=0,'.repeat(5000)}gzip`), { gzip: true, identity: true })
})

void test('If-None-Match: lists, weak ETags, the ETag of the compressed form, and `*`', () => {
  const rows: readonly (readonly [header: string | undefined, known: boolean])[] = [
    [undefined, false],
    ['', false],
    ['"a"', true],
    ['W/"a"', true],
    ['"a-gzip"', true],
    ['"b", W/"a-gzip" , "c"', true],
    ['*', true],
    ['"b"', false],
    ['a', false],
    ['"a', false],
    ['w/"a"', false],
  ]
  for (const [header, known] of rows) assert.equal(isKnown(header, '"a"'), known, header)
})
