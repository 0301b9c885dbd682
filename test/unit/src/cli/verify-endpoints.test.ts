/*
 * Goal: kubeconfigs of any program are accepted, and only members of one cluster are compared.
 * Method: files by hand: inline and by path, tokens, several clusters, plugins.
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

const encoded = (text: string): string => Buffer.from(text).toString('base64')

/**
 * One context each for two members of one cluster, and one of another; users with all kinds of
 * credentials.
 */
const config = {
  'current-context': 'n2',
  clusters: [
    { name: 'n1', cluster: { server: 'https://n1:6443', 'certificate-authority-data': encoded('CA') } },
    { name: 'n2', cluster: { server: 'https://n2:6443', 'certificate-authority': 'ca.crt' } },
    { name: 'other', cluster: { server: 'https://o:6443', 'certificate-authority-data': encoded('OTHER') } },
  ],
  users: [
    {
      name: 'inline',
      user: { 'client-certificate-data': encoded('CERT'), 'client-key-data': encoded('KEY') },
    },
    { name: 'token', user: { tokenFile: 'token' } },
    { name: 'plugin', user: { exec: { command: 'login' } } },
  ],
  contexts: [
    { name: 'n1', context: { cluster: 'n1', user: 'inline' } },
    { name: 'n2', context: { cluster: 'n2', user: 'token' } },
    { name: 'other', context: { cluster: 'other', user: 'inline' } },
    { name: 'cloud', context: { cluster: 'other', user: 'plugin' } },
  ],
}

function inDirectory(body: (kubeconfig: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-'))
  try {
    writeFileSync(join(directory, 'ca.crt'), 'CA')
    writeFileSync(join(directory, 'token'), 'secret\n')
    writeFileSync(join(directory, 'config'), stringify(config))
    body(join(directory, 'config'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

void test('the current context and the others of its cluster, with any user', () => {
  inDirectory((kubeconfig) => {
    const [first, second, ...more] = verifyEndpoints({ kubeconfig })
    const none = { certificate: null, key: null, token: null, insecure: false }
    assert.deepEqual(first, { ...none, name: 'n2', url: 'https://n2:6443', authority: 'CA', token: 'secret' })
    const inline = { authority: 'CA', certificate: 'CERT', key: 'KEY' }
    assert.deepEqual(second, { ...none, ...inline, name: 'n1', url: 'https://n1:6443' })
    assert.deepEqual(more, [], 'another cluster is another matter')
    const [named] = verifyEndpoints({ kubeconfig, context: ['other'], insecureSkipTlsVerify: true })
    assert.deepEqual([named?.url, named?.insecure], ['https://o:6443', true])
  })
})

void test('endpoints by flags', () => {
  inDirectory((kubeconfig) => {
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
    assert.equal(found[0]?.token, 't')
  })
})

void test('unusable endpoints fail with a one-line error', () => {
  inDirectory((kubeconfig) => {
    const refused = (flags: Omit<EndpointFlags, 'kubeconfig'>, words: RegExp): void => {
      assert.throws(
        () => verifyEndpoints({ kubeconfig, ...flags }),
        (cause) => cause instanceof CliError && words.test(cause.message) && !cause.message.includes('\n'),
      )
    }
    refused({ context: ['cloud'] }, /authenticates by exec: give --endpoint and --token instead$/)
    refused({ context: ['nowhere'] }, /lacks the context "nowhere"$/)
    refused({ endpoint: ['a:1'] }, /--endpoint a:1 is not like/)
    refused({ endpoint: ['https://a'], ca: '/nonexistent' }, /^cannot read \/nonexistent/)
    refused({ endpoint: ['https://a'], token: 'a', tokenFile: 'b' }, /not both/)
    refused(
      { endpoint: Array.from({ length: 17 }, (_, at) => `https://h${at}`) },
      /17 endpoints are more than 16/,
    )
    writeFileSync(kubeconfig, 'a: [')
    refused({}, /^cannot read /)
    writeFileSync(kubeconfig, stringify({ ...config, 'current-context': '' }))
    refused({}, /no current context/)
    rmSync(kubeconfig)
    refused(
      {},
      /^cannot read .* \(ENOENT\): orchctl cluster up makes one; or give --kubeconfig or --endpoint$/,
    )
  })
})
