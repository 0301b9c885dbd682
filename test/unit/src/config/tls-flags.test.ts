/*
 * Goal: TLS is configured with upstream's names, and the runtime supports the result.
 * Method: every name that is known, and some that are not, through the configuration.
 */
import assert from 'node:assert/strict'
import { createSecureContext, getCiphers } from 'node:tls'
import { test } from 'node:test'
import { ConfigError } from '../../../../src/config/errors.ts'
import { helpText } from '../../../../src/config/help.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { tlsVersions } from '../../../../src/config/tls-flags.ts'

function load(...args: readonly string[]) {
  const loaded = loadConfig({ args: ['--in-memory', ...args], readFile: () => '' })
  assert.ok(loaded.kind === 'config')
  return loaded.config
}

void test('the minimum TLS version has the name that Go gives it', () => {
  assert.equal(load()['tls-min-version'], 'VersionTLS12')
  assert.equal(tlsVersions[load('--tls-min-version=VersionTLS13')['tls-min-version']], 'TLSv1.3')
  for (const [given, says] of [
    ['VersionTLS11', /must be one of VersionTLS12, VersionTLS13: older ones are not safe$/],
    ['TLSv1.3', /--tls-min-version \(command line\) must be one of VersionTLS12, VersionTLS13$/],
  ] as const) {
    assert.throws(
      () => load(`--tls-min-version=${given}`),
      (cause) => cause instanceof ConfigError && says.test(cause.message),
    )
  }
})

void test('the runtime supports every cipher suite that help lists', () => {
  const [, listed = ''] = /--tls-cipher-suites [^\n]*\n[^\n]*Known: ([A-Z0-9_, ]+)\./.exec(helpText()) ?? []
  const names = listed.split(', ')
  assert.ok(names.length >= 15, listed)
  for (const name of names) {
    const ciphers = load(`--tls-cipher-suites=${name}`)['tls-cipher-suites'] ?? []
    for (const cipher of ciphers) assert.ok(getCiphers().includes(cipher.toLowerCase()), cipher)
    createSecureContext({ ciphers: ciphers.join(':') })
  }
})

void test('cipher suites keep their order, and all of TLS 1.3 are offered if none of them is named', () => {
  assert.equal(load()['tls-cipher-suites'], null)
  const given =
    '--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'
  const all13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']
  const both12 = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256']
  assert.deepEqual(load(given)['tls-cipher-suites'], [...all13, ...both12])
  const one13 = load(given, '--tls-cipher-suites', 'TLS_AES_256_GCM_SHA384')['tls-cipher-suites']
  assert.deepEqual(one13, [...both12, 'TLS_AES_256_GCM_SHA384'])
})

void test('an unknown or unsafe cipher suite is an error that lists the accepted ones', () => {
  for (const [name, says] of [
    ['ECDHE-RSA-AES128-GCM-SHA256', /know the suite "ECDHE-.*": known are TLS_AES_128_GCM_SHA256, /],
    ['TLS_ECDHE_RSA_WITH_RC4_128_SHA', /know the suite "TLS_.*_RC4_128_SHA": known are TLS_AES_128/],
    ['constructor', /does not know the suite "constructor": known are TLS_AES_128_GCM_SHA256, /],
  ] as const) {
    assert.throws(
      () => load(`--tls-cipher-suites=${name}`),
      (cause) => cause instanceof ConfigError && says.test(cause.message),
      name,
    )
  }
})
