/*
 * Goal: the flags for node agents have upstream's defaults and reject what has no meaning.
 * Method: command lines.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../../../../src/config/errors.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { Config } from '../../../../src/config/config.ts'

function load(...args: readonly string[]): Config {
  const loaded = loadConfig({ args: ['--in-memory', ...args], readFile: () => '' })
  return loaded.kind === 'config' ? loaded.config : assert.fail(loaded.kind)
}

void test('addresses of nodes are preferred in the order of upstream unless a flag has another one', () => {
  assert.deepEqual(load()['kubelet-preferred-address-types'], [
    ...['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  ])
  assert.equal(load()['kubelet-timeout'], 5000)
  const given = load('--kubelet-preferred-address-types=InternalIP,ExternalIP')
  assert.deepEqual(given['kubelet-preferred-address-types'], ['InternalIP', 'ExternalIP'])
})

void test('unknown types of addresses, none at all, a certificate or key without the other, and an authority without a certificate are refused', () => {
  const refused = (args: readonly string[], words: RegExp): void =>
    assert.throws(
      () => load(...args),
      (cause) => cause instanceof ConfigError && words.test(cause.message),
    )
  refused(['--kubelet-preferred-address-types=InternalIP,Other'], /must be a list of Hostname, InternalDNS/)
  refused(['--kubelet-preferred-address-types='], /must be a list of Hostname, InternalDNS/)
  refused(
    ['--kubelet-client-certificate=a'],
    /--kubelet-client-certificate and --kubelet-client-key go together/,
  )
  refused(['--kubelet-client-key=a'], /--kubelet-client-certificate and --kubelet-client-key go together/)
  refused(
    ['--kubelet-certificate-authority=a'],
    /--kubelet-certificate-authority needs --kubelet-client-certificate/,
  )
})
