/*
 * Goal: kubeconfigs of any program are accepted, and only members of one cluster are compared.
 * Method: files by hand: inline and by path, tokens, several clusters, what is not supported.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { CliError } from '../../../../src/cli/errors.ts'
import { verifyEndpoints } from '../../../../src/cli/verify-endpoints.ts'
import type { EndpointFlags } from '../../../../src/cli/verify-endpoints.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'

const encoded = (text: string): string => Buffer.from(text).toString('base64')
const [own, other] = [new TestAuthority(), new TestAuthority()]
const client = own.client('someone', [])

/**
 * One context each for two members of one cluster, and one of another; users with all kinds of
 * credentials.
 */
const config = {
  'current-context': 'n2',
  clusters: [
    { name: 'n1', cluster: { server: 'https://n1:6443', 'certificate-authority-data': encoded(own.pem) } },
    { name: 'n2', cluster: { server: 'https://n2:6443', 'certificate-authority': 'ca.crt' } },
    {
      name: 'other',
      cluster: { server: 'https://o:6443', 'certificate-authority-data': encoded(other.pem) },
    },
  ],
  users: [
    {
      name: 'inline',
      user: { 'client-certificate-data': encoded(client.cert), 'client-key-data': encoded(client.key) },
    },
    { name: 'token', user: { tokenFile: 'token' } },
    { name: 'provider', user: { 'auth-provider': { name: 'cloud' } } },
  ],
  contexts: [
    { name: 'n1', context: { cluster: 'n1', user: 'inline' } },
    { name: 'n2', context: { cluster: 'n2', user: 'token' } },
    { name: 'other', context: { cluster: 'other', user: 'inline' } },
    { name: 'cloud', context: { cluster: 'other', user: 'provider' } },
  ],
}

async function inDirectory(body: (kubeconfig: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-'))
  try {
    writeFileSync(join(directory, 'ca.crt'), own.pem)
    writeFileSync(join(directory, 'token'), 'secret\n')
    writeFileSync(join(directory, 'config'), stringify(config))
    await body(join(directory, 'config'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

void test('the endpoints are the current context and the others of its cluster, each with its user', async () => {
  await inDirectory(async (kubeconfig) => {
    const [first, second, ...more] = verifyEndpoints({ kubeconfig })
    const server = { authority: own.pem, serverName: null, insecure: false }
    const { credentials: token, ...firstServer } = first ?? assert.fail('no endpoint')
    const { credentials: inline, ...secondServer } = second ?? assert.fail('one endpoint')
    assert.deepEqual(firstServer, { ...server, name: 'n2', url: 'https://n2:6443' })
    assert.deepEqual(secondServer, { ...server, name: 'n1', url: 'https://n1:6443' })
    assert.deepEqual(await token.current(), { token: 'secret', identity: null, impersonation: [] })
    const identity = { certificate: client.cert, key: client.key }
    assert.deepEqual(await inline.current(), { token: null, identity, impersonation: [] })
    assert.deepEqual(more, [], 'contexts of other clusters are left out')
    const [named] = verifyEndpoints({ kubeconfig, context: ['other'], insecureSkipTlsVerify: true })
    assert.deepEqual([named?.url, named?.insecure], ['https://o:6443', true])
  })
})

void test('endpoints of flags replace those of the kubeconfig, each once, with the given token', async () => {
  await inDirectory(async (kubeconfig) => {
    const flags: EndpointFlags = {
      kubeconfig,
      endpoint: ['https://a:1', 'https://b:2/', 'https://a:1'],
      token: 't',
    }
    const found = verifyEndpoints(flags)
    assert.deepEqual(
      found.map(({ name }) => name),
      ['a:1', 'b:2'],
    )
    assert.equal((await found[0]?.credentials.current())?.token, 't')
  })
})

void test('unusable endpoints fail with a one-line error', async () => {
  await inDirectory((kubeconfig) => {
    const refused = (flags: Omit<EndpointFlags, 'kubeconfig'>, words: RegExp): void => {
      assert.throws(
        () => verifyEndpoints({ kubeconfig, ...flags }),
        (cause) => cause instanceof CliError && words.test(cause.message) && !cause.message.includes('\n'),
      )
    }
    refused({ context: ['cloud'] }, /auth-provider is not supported: give exec with a credential plugin$/)
    refused({ context: ['nowhere'] }, /lacks the context "nowhere"$/)
    refused({ endpoint: ['a:1'] }, /--endpoint a:1 is not like/)
    refused({ endpoint: ['https://a'], ca: '/nonexistent' }, /^\/nonexistent cannot be read \(ENOENT\)/)
    refused({ endpoint: ['https://a'], token: 'a', tokenFile: 'b' }, /not both/)
    refused(
      { endpoint: Array.from({ length: 17 }, (_, at) => `https://h${at}`) },
      /17 endpoints were given, at most 16 are possible/,
    )
    writeFileSync(kubeconfig, 'a: [')
    refused({}, /^cannot read /)
    writeFileSync(kubeconfig, stringify({ ...config, 'current-context': '' }))
    refused({}, /no current context/)
    rmSync(kubeconfig)
    refused({}, /cannot be read \(ENOENT\): .* \(orchctl cluster up makes one; or give --endpoint\)$/)
    return Promise.resolve()
  })
})
