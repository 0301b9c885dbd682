/*
 * Goal: kubectl and orchctl authenticate with the same kubeconfigs, one for each kind of
 * credential.
 * Method: a real kubectl and a real process. A refusal names the user; the administrator is not
 * refused.
 */
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { call, readEndpoints } from '../../src/cli/member-client.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { patienceMs } from '../support/tools/until.ts'

const kubectl = Kubectl.find()
const encoded = (text: string): string => Buffer.from(text).toString('base64')
const refusal = / User \\?"([^"\\]+)\\?" cannot /

void describe('one kubeconfig for each kind of credential', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 1, domain: 'k8s.io' })
  })
  after(() => cluster.remove())

  const pathOf = (name: string): string => join(cluster.directory, name)

  function configFor(name: string, user: object): string {
    const server = cluster.members[0]?.url ?? assert.fail('a member')
    const path = pathOf(`${name}.kubeconfig`)
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'n1' },
      clusters: [
        { name: 'c', cluster: { server, 'certificate-authority-data': encoded(cluster.credentials.ca) } },
      ],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'n1', context: { cluster: 'c', user: 'u' } }],
    }
    writeFileSync(path, JSON.stringify(config))
    return path
  }

  /** Writes a plugin that prints this status. @returns the user entry that runs it */
  function execFor(name: string, status: object): object {
    const apiVersion = 'client.authentication.k8s.io/v1'
    writeFileSync(pathOf(`${name}.json`), JSON.stringify({ kind: 'ExecCredential', apiVersion, status }))
    writeFileSync(pathOf(name), `#!/bin/sh\ncat "$(dirname "$0")/${name}.json"\n`)
    chmodSync(pathOf(name), 0o700)
    return { exec: { apiVersion, command: `./${name}`, interactiveMode: 'Never' } }
  }

  /**
   * Returns the users that the server authenticates kubectl and orchctl as: the user that a refusal
   * names, or `admin` if nothing is refused.
   */
  async function usersOf(kubeconfig: string): Promise<readonly string[]> {
    const path = '/api/v1/namespaces/kube-system/secrets'
    const byKubectl = await kubectl.run(kubeconfig, ['get', 'secrets', '-n', 'kube-system'])
    const [endpoint] = readEndpoints(kubeconfig)
    assert.ok(endpoint)
    const reply = await call(endpoint, { method: 'GET', path }, patienceMs)
    const named = (isServed: boolean, text: string): string =>
      isServed ? 'admin' : (refusal.exec(text)?.[1] ?? text)
    return [named(byKubectl.code === 0, byKubectl.stderr), named(reply?.status === 200, reply?.body ?? '')]
  }

  void test('spec 5.5: kubectl and orchctl are the same user with certificates, tokens, token files, plugins that print an ExecCredential, and impersonation', async () => {
    const { cert = '', key = '' } = cluster.credentials
    writeFileSync(pathOf('token'), 'test-nobody-token\n')
    await kubectl.ok(cluster.kubeconfig, ['create', 'serviceaccount', 'robot'])
    const issued = (await kubectl.ok(cluster.kubeconfig, ['create', 'token', 'robot'])).trim()
    const pair = { clientCertificateData: cert, clientKeyData: key }
    const embedded = { 'client-certificate-data': encoded(cert), 'client-key-data': encoded(key) }
    const robot = 'system:serviceaccount:default:robot'
    const table: readonly (readonly [string, object, string])[] = [
      ['certificate', embedded, 'admin'],
      ['static-token', { token: 'test-nobody-token' }, 'nobody'],
      ['token-file', { tokenFile: 'token' }, 'nobody'],
      ['account', { token: issued }, robot],
      ['plugin-token', execFor('login-token', { token: issued }), robot],
      ['plugin-certificate', execFor('login-certificate', pair), 'admin'],
      ['impersonation', { ...embedded, as: 'jane', 'as-groups': ['readers'] }, 'jane'],
    ]
    for (const [name, user, expected] of table)
      assert.deepEqual(await usersOf(configFor(name, user)), [expected, expected], name)
  })
})
