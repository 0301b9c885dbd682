/*
 * Goal: an unknown flag ends with one line that names it, its source and the nearest known flag.
 * Method: misspelled flags, and flags of other servers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../../../../src/config/errors.ts'
import { flagNames, loadConfig } from '../../../../src/config/load.ts'

function refusal(args: readonly string[]): string {
  try {
    loadConfig({ args, readFile: () => '' })
  } catch (cause) {
    assert.ok(cause instanceof ConfigError)
    assert.doesNotMatch(cause.message, /\n/)
    return cause.message
  }
  throw new Error('it was taken')
}

void test('the error for a misspelled flag has the right spelling', () => {
  for (const name of flagNames.filter((one) => one.length > 4)) {
    const misspelled = `--${name.slice(0, 2)}${name.slice(3)}`
    assert.equal(refusal([misspelled]), `unknown flag ${misspelled} (command line): did you mean --${name}?`)
  }
})

void test('the error for a flag of another server has the nearest flag of this one and refers to --help', () => {
  for (const foreign of [
    '--etcd-servers=https://e:2379',
    '--etcd-compaction-interval=5m',
    '--etcd-prefix=/a',
  ]) {
    const message = refusal(['--in-memory', foreign])
    const [, nearest = ''] =
      /^unknown flag --[a-z-]+ \(command line\): .* --([a-z0-9-]+), see --help$/.exec(message) ?? []
    assert.ok(
      flagNames.some((name) => name === nearest),
      message,
    )
  }
})
