/*
 * Goal: the credentials of each webhook are those that the configuration file has for its server,
 * and a file that is wrong is refused with its place and the remedy.
 * Method: files in a temporary directory; a real HTTPS server that records what it gets.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import {
  readAdmissionConfiguration,
  webhookCredentials,
} from '../../../../src/admission/configuration-file.ts'
import type { CredentialsFor } from '../../../../src/outward/webhook-clients.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { WebhookKit } from './webhooks/webhook-kit.ts'

const plugins = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook']

type Files = (name: string, value: unknown) => string

function directory(t: TestContext): Files {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-admission-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  return (name, value) => {
    const path = join(scratch, name)
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
    return path
  }
}

function head(kind: string, domain: ApiDomain = 'orch.io') {
  return { apiVersion: `apiserver.config.${domain}/v1`, kind }
}

function webhookPlugin(name: string, kubeConfigFile: string, domain: ApiDomain = 'orch.io') {
  return { name, configuration: { ...head('WebhookAdmissionConfiguration', domain), kubeConfigFile } }
}

function credentialsIn(path: string, domain: ApiDomain = 'orch.io'): CredentialsFor {
  const names = namesOf(domain)
  return webhookCredentials(readAdmissionConfiguration(path, names, plugins), names)
}

void test('spec 5.8: --admission-control-config-file gives each of the two plugins a kubeConfigFile, in both domains', (t) => {
  const file = directory(t)
  file('mutating.yaml', { users: [{ name: '*', user: { token: 'm' } }] })
  file('validating.yaml', { users: [{ name: '*', user: { token: 'v' } }] })
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    // Paths are relative to the file that has them.
    const beside = webhookPlugin('', 'validating.yaml', domain).configuration
    file('validating-plugin.yaml', beside)
    const path = file('admission.yaml', {
      ...head('AdmissionConfiguration', domain),
      plugins: [
        webhookPlugin('MutatingAdmissionWebhook', 'mutating.yaml', domain),
        { name: 'ValidatingAdmissionWebhook', path: 'validating-plugin.yaml' },
      ],
    })
    const credentials = credentialsIn(path, domain)
    assert.equal(credentials('mutating', 'a.b.svc')?.authorization, 'Bearer m')
    assert.equal(credentials('validating', 'a.b.svc')?.authorization, 'Bearer v')
  }
})

void test('spec 5.8: users are found by the name of the service or the host, then by a prefix *, then by *', (t) => {
  const file = directory(t)
  const names = ['hook.team.svc', 'hook.team.svc:8443', '*.team.svc', '*.svc', 'host.example:443', '*']
  const users = names.map((name) => ({ name, user: { token: name } }))
  file('users.yaml', { users })
  const path = file('admission.yaml', {
    ...head('AdmissionConfiguration'),
    plugins: [webhookPlugin('ValidatingAdmissionWebhook', 'users.yaml')],
  })
  const credentials = credentialsIn(path)
  const rows: readonly (readonly [server: string, user: string])[] = [
    ['hook.team.svc', 'hook.team.svc'],
    ['hook.team.svc:8443', 'hook.team.svc:8443'],
    ['hook.team.svc:9443', '*'],
    ['other.team.svc', '*.team.svc'],
    ['hook.other.svc', '*.svc'],
    ['host.example:443', 'host.example:443'],
    ['host.example', '*'],
  ]
  for (const [server, user] of rows) {
    assert.equal(credentials('validating', server)?.authorization, `Bearer ${user}`, server)
  }
  assert.equal(credentials('mutating', 'hook.team.svc'), null)
})

void test('spec 5.8: credentials are a certificate and key, a user name and password, or a token', async (t) => {
  const file = directory(t)
  const given: { credentials: CredentialsFor } = { credentials: () => null }
  const kit = await WebhookKit.open(t, { credentials: (type, server) => given.credentials(type, server) })
  const { cert, key } = kit.server.authority.client('orch-apiserver', [])
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const rows = [
    {
      user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) },
      seen: ['orch-apiserver', undefined],
    },
    { user: { username: 'kate', password: 'secret' }, seen: ['', `Basic ${base64('kate:secret')}`] },
    { user: { token: 'sesame' }, seen: ['', 'Bearer sesame'] },
    { user: {}, seen: ['', undefined] },
  ]
  for (const [at, { user, seen }] of rows.entries()) {
    file('users.yaml', { users: [{ name: kit.server.url.host, user }] })
    const path = file('admission.yaml', {
      ...head('AdmissionConfiguration'),
      plugins: [webhookPlugin('ValidatingAdmissionWebhook', 'users.yaml')],
    })
    given.credentials = credentialsIn(path)
    kit.clients.close()
    kit.clear()
    if (at === 0) await kit.configure('validating', 'v', [kit.webhook('v.example.com')])
    await kit.api.configMap(`a${at}`)
    const [call] = kit.server.calls
    assert.deepEqual([call?.client, call?.headers.authorization], seen)
  }
})

void test('a configuration file that is wrong is refused with its place and the remedy', (t) => {
  const file = directory(t)
  const good = head('AdmissionConfiguration')
  file('none.yaml', { users: [] })
  const hook = 'ValidatingAdmissionWebhook'
  const rows: readonly (readonly [content: unknown, message: RegExp])[] = [
    ['[', /admission\.yaml: .*/],
    [
      { ...good, kind: 'Other' },
      /kind and apiVersion must be AdmissionConfiguration and apiserver\.config\.orch\.io\/v1/,
    ],
    [{ ...good, plugins: {} }, /plugins must be a list/],
    [{ ...good, plugins: ['x'] }, /plugins\[0\] must be an object with name and configuration/],
    [
      { ...good, plugins: [{ name: 'Webhook', configuration: {} }] },
      /plugins\[0\]\.name is "Webhook": the plugins are MutatingAdmissionWebhook, ValidatingAdmissionWebhook/,
    ],
    [
      { ...good, plugins: [{ name: hook }] },
      /plugins\[0\] needs a configuration, or the path of a file with it/,
    ],
    [{ ...good, plugins: [{ name: hook, path: 'a', configuration: {} }] }, /has both path and configuration/],
    [
      { ...good, plugins: [{ name: hook, file: 'a' }] },
      /plugins\[0\] has "file": its members are name, path, configuration/,
    ],
    [
      { ...good, plugins: [webhookPlugin(hook, 'none.yaml'), webhookPlugin(hook, 'none.yaml')] },
      /listed twice/,
    ],
    [{ ...good, plugins: [webhookPlugin(hook, '')] }, /WebhookAdmissionConfiguration needs a kubeConfigFile/],
    [{ ...good, plugins: [webhookPlugin(hook, 'missing.yaml')] }, /missing\.yaml/],
    [{ ...good, plugins: [{ name: hook, path: 'missing.yaml' }] }, /missing\.yaml/],
  ]
  for (const [content, message] of rows) {
    assert.throws(() => credentialsIn(file('admission.yaml', content)), message, JSON.stringify(content))
  }
  const path = file('admission.yaml', { ...good, plugins: [webhookPlugin(hook, 'users.yaml')] })
  const users: readonly (readonly [users: unknown, message: RegExp])[] = [
    [{}, /users must be a list/],
    [[{ user: {} }], /each entry of users must have a name/],
    [[{ name: 'a' }, { name: 'a' }], /users has "a" twice/],
    [[{ name: 'a', user: { 'client-key-data': 'eA==' } }], /client-certificate and client-key go together/],
  ]
  for (const [list, message] of users) {
    file('users.yaml', { users: list })
    assert.throws(() => credentialsIn(path), message, JSON.stringify(list))
  }
})
