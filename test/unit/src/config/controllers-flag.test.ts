/*
 * Goal: `--controllers` selects controllers as the controller manager of Kubernetes does, and
 * refuses names that it does not know. Method: command lines and a file, table by table.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONTROLLERS, CONTROLLERS_BY_NAME } from '../../../../src/config/controllers-flag.ts'
import { ConfigError } from '../../../../src/config/errors.ts'
import { helpText } from '../../../../src/config/help.ts'
import { loadConfig } from '../../../../src/config/load.ts'

function enabled(args: readonly string[], file = ''): readonly string[] {
  const config = file === '' ? [] : ['--config=server.yaml']
  const loaded = loadConfig({ args: ['--in-memory', ...config, ...args], readFile: () => file })
  if (loaded.kind !== 'config') return assert.fail('a configuration')
  return [...loaded.config.controllers]
}

/** Returns the controllers that `*` enables, without these. */
const without = (...names: readonly string[]): readonly string[] =>
  CONTROLLERS.filter((name) => ![...names, ...CONTROLLERS_BY_NAME].includes(name))

void test('spec 5: all controllers but those of bootstrap tokens are enabled unless --controllers excludes them', () => {
  assert.deepEqual(enabled([]), without())
  assert.deepEqual(enabled(['--controllers=*']), without())
  assert.deepEqual(enabled(['--controllers=*,tokencleaner,bootstrapsigner']), CONTROLLERS)
  assert.deepEqual(enabled(['--controllers=tokencleaner']), ['tokencleaner'])
  const help = helpText()
  for (const name of CONTROLLERS) assert.ok(help.includes(name), name)
})

void test('an entry of its own decides about a controller, and * about those without one', () => {
  for (const [given, expected] of [
    ['*,-namespace', without('namespace')],
    ['-namespace,*', without('namespace')],
    ['*,-serviceaccount', without('serviceaccount')],
    ['*, -namespace, -serviceaccount-token', without('namespace', 'serviceaccount-token')],
    ['namespace', ['namespace']],
    ['-namespace', []],
    ['', []],
    ['namespace,-namespace', ['namespace']],
    ['*,-namespace,namespace', without('namespace')],
  ] as const) {
    assert.deepEqual(enabled([`--controllers=${given}`]), expected, given)
  }
})

void test('repeated flags and lists of a configuration file add up', () => {
  assert.deepEqual(enabled(['--controllers=*', '--controllers', '-namespace']), without('namespace'))
  assert.deepEqual(enabled([], 'controllers: ["*", "-namespace"]'), without('namespace'))
})

void test('an unknown controller is refused with the names of all', () => {
  for (const name of ['nodelifecycle', '-nodelifecycle', '--namespace', 'Namespace', '-*', '-']) {
    assert.throws(
      () => enabled([`--controllers=*,${name}`]),
      (cause) => {
        assert.ok(cause instanceof ConfigError)
        assert.ok(cause.message.startsWith('--controllers (command line) accepts'), cause.message)
        for (const known of [...CONTROLLERS, JSON.stringify(name)]) assert.ok(cause.message.includes(known))
        return true
      },
    )
  }
})
