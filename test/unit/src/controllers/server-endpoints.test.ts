/* Goal: endpoints of the API server are what other machines can connect to. Method: tables. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointOf, isSliceName, slicesOf, subsetsOf } from '../../../../src/controllers/server-endpoints.ts'

void test('an endpoint is an IP address that other machines can have, and a port', () => {
  for (const [clientAddress, expected] of [
    ['10.0.0.1:6443', { ip: '10.0.0.1', port: 6443 }],
    ['[fd00:0::0A]:443', { ip: 'fd00::a', port: 443 }],
    ['127.0.0.1:6443', null],
    ['127.9.9.9:6443', null],
    ['[::1]:6443', null],
    ['0.0.0.0:6443', null],
    ['[::]:6443', null],
    ['169.254.1.1:6443', null],
    ['[fe80::1]:6443', null],
    ['n1.example:6443', null],
    ['localhost:6443', null],
    ['10.0.0.1', null],
    ['', null],
  ] as const)
    assert.deepEqual(endpointOf({ isReady: true, clientAddress }), expected, clientAddress)
})

void test('members with different ports have one subset for each port, and one slice for each port and family', () => {
  const endpoints = [
    { ip: '10.0.0.2', port: 6443 },
    { ip: 'fd00::1', port: 6443 },
    { ip: '10.0.0.1', port: 6443 },
    { ip: '10.0.0.3', port: 443 },
    { ip: '10.0.0.3', port: 443 },
  ]
  const ports = (port: number) => [{ name: 'https', port, protocol: 'TCP' }]
  assert.deepEqual(subsetsOf(endpoints), [
    { addresses: [{ ip: '10.0.0.3' }], ports: ports(443) },
    { addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }, { ip: 'fd00::1' }], ports: ports(6443) },
  ])
  const ready = (...ips: readonly string[]) =>
    ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } }))
  assert.deepEqual(slicesOf('orch', endpoints, 'IPv4'), [
    { name: 'orch', addressType: 'IPv4', endpoints: ready('10.0.0.3'), ports: ports(443) },
    {
      ...{ name: 'orch-ipv4-6443', addressType: 'IPv4' },
      ...{ endpoints: ready('10.0.0.1', '10.0.0.2'), ports: ports(6443) },
    },
    { name: 'orch-ipv6-6443', addressType: 'IPv6', endpoints: ready('fd00::1'), ports: ports(6443) },
  ])
  for (const { name } of slicesOf('orch', endpoints, 'IPv4')) assert.ok(isSliceName('orch', name), name)
  for (const name of ['orchard', 'orch-abcde', 'other-ipv4-6443', 'orch-ipv4-'])
    assert.ok(!isSliceName('orch', name), name)
})

void test('without endpoints there are no subsets, and one empty slice of the family of the Service', () => {
  assert.deepEqual(subsetsOf([]), [])
  assert.deepEqual(slicesOf('orch', [], 'IPv6'), [
    { name: 'orch', addressType: 'IPv6', endpoints: [], ports: [] },
  ])
})
