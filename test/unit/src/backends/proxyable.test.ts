/*
 * Goal: the proxies reach no address that only this machine can reach.
 * Method: addresses of every special range, in every spelling, also as part of IPv6 addresses;
 * names that resolve to them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProxyable, lookupAmong } from '../../../../src/backends/proxyable.ts'

void test('loopback, link-local, multicast and unspecified addresses are not allowed, in any spelling', () => {
  const forbidden = [
    ...[
      '127.0.0.1',
      '127.255.0.9',
      '0.0.0.0',
      '169.254.169.254',
      '224.0.0.1',
      '239.1.2.3',
      '255.255.255.255',
    ],
    ...['::1', '::', 'fe80::1', 'febf::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:169.254.169.254'],
    ...['::ffff:7f00:1', '0:0:0:0:0:0:0:1', ''],
    ...['localhost', '10.0.0.1:80', '127.1', '0x7f000001'],
  ]
  for (const address of forbidden) assert.equal(isProxyable(address), false, address)
  for (const address of [
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '8.8.8.8',
    'fd00::1',
    '2001:db8::1',
    '::ffff:10.0.0.1',
  ])
    assert.equal(isProxyable(address), true, address)
})

void test('metadata services of clouds are not allowed at addresses that are not link-local either', () => {
  for (const address of [
    ...['100.100.100.200', '168.63.129.16', '192.0.0.192', '::ffff:100.100.100.200'],
    ...['fd00:ec2::254', 'fd00:0ec2:0:0:0:0:0:254', 'fd20:ce::254'],
  ])
    assert.equal(isProxyable(address), false, address)
  for (const address of ['100.100.100.201', '192.0.0.193', 'fd00:ec2::255', 'fd20:ce::1'])
    assert.equal(isProxyable(address), true, address)
})

void test('an IPv6 address with a forbidden IPv4 address in it is not allowed', () => {
  const rows: readonly (readonly [forbidden: string, allowed: string])[] = [
    // IPv4-mapped, IPv4-translated and IPv4-compatible.
    ['::ffff:169.254.169.254', '::ffff:10.0.0.1'],
    ['::ffff:a9fe:a9fe', '::ffff:a00:1'],
    ['::ffff:0:100.100.100.200', '::ffff:0:100.100.100.201'],
    ['::127.0.0.1', '::10.0.0.1'],
    // NAT64.
    ['64:ff9b::169.254.169.254', '64:ff9b::8.8.8.8'],
    ['64:ff9b::a9fe:a9fe', '64:ff9b::a00:1'],
    ['0064:FF9B:0:0:0:0:127.0.0.1', '64:ff9b::10.0.0.1'],
    ['64:ff9b::168.63.129.16', '64:ff9b::168.63.129.17'],
    // NAT64 of a network's own: prefixes of 96, 64, 56 and 48 bits.
    ['64:ff9b:1::169.254.169.254', '64:ff9b:1::10.0.0.1'],
    ['64:ff9b:1:2:3:4:a9fe:a9fe', '64:ff9b:1:2:3:4:a00:1'],
    ['64:ff9b:1::a9:fea9:fe00:0', '64:ff9b:1::a:0:100:0'],
    ['64:ff9b:1:2:a9:fea9:fe00:0', '64:ff9b:1:2:a:0:100:0'],
    ['64:ff9b:1:2a9:fe:a9fe::', '64:ff9b:1:20a:0:1::'],
    ['64:ff9b:1:a9fe:a9:fe00::', '64:ff9b:1:a00:0:100::'],
    ['64:ff9b:1::', '64:ff9b:2::'],
    // 6to4.
    ['2002:a9fe:a9fe::1', '2002:a00:1::1'],
    ['2002:7f00:1::', '2002:808:808::'],
    ['2002:6464:64c8:1:2:3:4:5', '2002:6464:64c9:1:2:3:4:5'],
    // The zone of a link does not matter.
    ['fe80::1%eth0', 'fd00::1%eth0'],
    ['64:ff9b::a9fe:a9fe%eth0', '64:ff9b::a00:1%eth0'],
  ]
  for (const [forbidden, allowed] of rows) {
    assert.equal(isProxyable(forbidden), false, forbidden)
    assert.equal(isProxyable(allowed), true, allowed)
  }
})

void test('a name that resolves to an address that is not allowed is refused', async () => {
  const resolved = (isAllowed: (address: string) => boolean, all: boolean): Promise<string> =>
    new Promise((resolve) => {
      lookupAmong(isAllowed)('localhost', { all }, (error, address) => {
        resolve(error === null ? JSON.stringify(address) : error.message)
      })
    })
  assert.equal(await resolved(isProxyable, true), 'address not allowed')
  assert.equal(await resolved(isProxyable, false), 'address not allowed')
  assert.match(await resolved(() => true, false), /127\.0\.0\.1|::1/)
})
