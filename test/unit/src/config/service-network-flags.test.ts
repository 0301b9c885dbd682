/*
 * Goal: the ranges of Services are configured as upstream, and a range that cannot work is refused.
 * Method: ranges of all forms through the configuration.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../../../../src/config/errors.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { defaultAddressRanges, defaultNodePorts } from '../../../../src/resources/services/service-ranges.ts'

function load(...args: readonly string[]) {
  const loaded = loadConfig({ args: ['--in-memory', ...args], readFile: () => '' })
  assert.ok(loaded.kind === 'config')
  return loaded.config
}

function refuses(flag: string, values: readonly string[], says: RegExp): void {
  for (const value of values) {
    assert.throws(
      () => load(`${flag}=${value}`),
      (cause) => cause instanceof ConfigError && says.test(cause.message),
      value,
    )
  }
}

void test('cluster IPs come from one range, or from one of each family', () => {
  const flag = '--service-cluster-ip-range'
  assert.deepEqual(load()['service-cluster-ip-range'], defaultAddressRanges)
  const both = load(`${flag}=10.0.0.0/24,fd00::/108`)
  assert.deepEqual(both['service-cluster-ip-range'], ['10.0.0.0/24', 'fd00::/108'])
  const repeated = load(`${flag}=10.0.0.0/24`, `${flag}=fd00::/108`)
  assert.deepEqual(repeated['service-cluster-ip-range'], both['service-cluster-ip-range'])
  refuses(
    flag,
    ['', '10.0.0.0', '10.0.0/24', 'fd00::/200', '10.0.0.0/33', 'x,y'],
    /one or two ranges such as/,
  )
  refuses(
    flag,
    ['10.0.0.0/24,10.1.0.0/24', '10.0.0.0/24,fd00::/112,fd01::/112'],
    /one of IPv4 and one of IPv6/,
  )
  refuses(flag, ['10.0.0.0/11', '10.0.0.0/30'], /an IPv4 range must have a prefix of 12 to 29 bits/)
  refuses(flag, ['fd00::/64', 'fd00::/126'], /an IPv6 range must have a prefix of 108 to 125 bits/)
})

void test('node ports come from one range, with its end or its length', () => {
  const flag = '--service-node-port-range'
  assert.equal(load()['service-node-port-range'], defaultNodePorts)
  assert.equal(load(`${flag}=20000-20100`)['service-node-port-range'], '20000-20100')
  assert.equal(load(`${flag}=20000+100`)['service-node-port-range'], '20000-20100')
  refuses(flag, ['', '1', '0-5', '20-10', '1-70000', 'a-b', '65000+1000'], /ports from 1 to 65535/)
})
