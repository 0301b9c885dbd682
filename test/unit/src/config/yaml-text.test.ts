/*
 * Goal: the error for a configuration file that is not YAML names the place and what is expected
 * there, and contains no values.
 * Method: files with one mistake each, and a secret next to it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../../../src/config/load.ts'

const table: readonly (readonly [string, RegExp])[] = [
  [
    'name: n1\njoin-token: s3cret: x',
    /line 2, column 13: expected a line such as `data-dir: \/var\/lib\/orch`, not indented; quote/,
  ],
  ['name: n1\nname: s3cret', /line 2, column 1: expected each flag once$/],
  ['name: "s3cret', /line 1, column 14: expected a closing quote or bracket/],
  ['join: [s3cret', /line 1, column 14: expected a closing quote or bracket/],
  ['name: n1\njoin-token: @s3cret', /line 2, column 13: expected quotes around a value that begins with/],
  ['name: n1\n\tjoin-token: s3cret', /line 2, column 1: expected spaces for the indentation, not a tab/],
  ['name: n1\n  join-token: s3cret', /line 1, column 7: expected a line such as/],
  ['name: "\\qs3cret"', /line 1, column 8: expected a known escape/],
  ['name: n1\njoin-token: !s3cret x', /line 2, column 13: expected a value without a tag; quote/],
  ['name: *s3cret', /expected values without anchors and aliases; quote/],
  ['name: n1\n---\nname: s3cret', /line 2, column 1: expected one document$/],
]

for (const [text, expected] of table) {
  void test(`a file that is not YAML is refused with its place: ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => loadConfig({ args: ['--config=f'], readFile: () => text }),
      ({ message }: Error) => {
        assert.match(message, expected)
        assert.doesNotMatch(message, /s3cret|\n/)
        return message.startsWith('configuration file f cannot be read')
      },
    )
  })
}
