/*
 * Goal: a member listens for peers on exactly the address that its flags name.
 * Method: flags of members of a cluster of two, and of a member without an address.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { peerListenAddress } from '../../../../src/app/consensus.ts'

void test('a member listens on its address, or on its port of the bind address, and on none without an address', () => {
  const member = (name: string, at: number) => ({ name, peerAddress: `10.0.0.${at}:7443`, clientAddress: '' })
  const members = [member('a', 1), member('b', 2)]
  const address = (name: string, peer: string, bind: string): string =>
    peerListenAddress({
      ...{ 'initial-members': members, name },
      ...{ 'peer-address': peer, 'peer-bind-address': bind },
    })
  assert.equal(address('b', '', ''), '10.0.0.2:7443')
  assert.equal(address('b', '10.1.1.1:9000', ''), '10.1.1.1:9000')
  assert.equal(address('b', '', '0.0.0.0'), '0.0.0.0:7443')
  assert.equal(address('b', '10.1.1.1:9000', '::'), '[::]:9000')
  assert.equal(address('c', '', ''), '')
  assert.equal(address('c', '', '0.0.0.0'), '')
})
