/*
 * Goal: an invalid encryption configuration is refused with its place and the remedy, never with a
 * secret.
 * Method: a table of files.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { ConfigError } from '../../../../src/config/errors.ts'
import { parseEncryptionFile } from '../../../../src/encryption/encryption-file.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'

const names = namesOf('k8s.io')
const builtIn = definitionsFor(names)
const secret = Buffer.alloc(32, 'SECRET').toString('base64')
const key = `{aesgcm: {keys: [{name: k, secret: ${secret}}]}}`

function fileWith(resources: string): string {
  return `{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: ${resources}}`
}

function withProvider(provider: string): string {
  return fileWith(`[{resources: [secrets], providers: [${provider}]}]`)
}

function withResource(resource: string): string {
  return fileWith(`[{resources: [${resource}], providers: [${key}]}]`)
}

const rows: readonly (readonly [file: string, error: RegExp])[] = [
  ['', /./],
  ['[1]', /./],
  ['{a: b: c}', /./],
  [
    '{kind: EncryptionConfig, apiVersion: v1}',
    /kind and apiVersion must be EncryptionConfiguration and apiserver/,
  ],
  [fileWith('[]'), /resources must be a list/],
  [fileWith('[{resources: [], providers: []}]'), /resources\[0\]\.resources must be a list/],
  [fileWith('[{resources: [secrets], providers: []}]'), /providers must be a list that is not empty/],
  [
    fileWith(`[{resources: [secrets], provider: [${key}]}]`),
    /has "provider": its members are resources, prov/,
  ],
  [withResource('secret'), /no group has no such resource/],
  [withResource('Secrets'), /must be a plural and its group/],
  [withResource("'*.*'"), /list each resource by its name/],
  [withResource('members.cluster.k8s.io'), /cannot be encrypted/],
  [withResource('secrets, secrets'), /secrets is listed twice/],
  [withResource('events, events.events.k8s.io'), /whose objects are those of events, is listed twice/],
  [withProvider('{rot13: {}}'), /one member of identity, aesgcm, aescbc, secretbox, kms/],
  [withProvider('{identity: {}, aesgcm: {}}'), /one member of/],
  [withProvider('{identity: {a: 1}}'), /identity must be \{\}/],
  [withProvider(`${key}, ${key}`), /aesgcm key "k" is listed twice/],
  [withProvider('{aesgcm: {keys: []}}'), /keys must be a list/],
  [withProvider(`{aesgcm: {keys: [{name: "a:b", secret: ${secret}}]}}`), /name must have 1 to 63/],
  [withProvider('{aesgcm: {keys: [{name: k, secret: "SECRET!"}]}}'), /must be base64.*head -c 32/],
  [withProvider('{aesgcm: {keys: [{name: k, secret: U0VDUkVU}]}}'), /has 6 bytes: aesgcm needs 16, 24 or 32/],
  [withProvider(`{secretbox: {keys: [{name: k, secret: ${secret.slice(0, 24)}}]}}`), /secretbox needs 32/],
  [withProvider('{kms: {name: k, endpoint: "unix:///s"}}'), /apiVersion must be v2: version 1/],
  [withProvider('{kms: {apiVersion: v2, name: k, endpoint: "tcp://h"}}'), /endpoint must be unix:\/\/\//],
  [withProvider('{kms: {apiVersion: v2, name: k, endpoint: "unix:///s", timeout: 1h}}'), /at most 30s/],
  [withProvider('{kms: {apiVersion: v2, name: k, endpoint: "unix:///s", cachesize: 1}}'), /has "cachesize"/],
]

for (const [file, error] of rows) {
  void test(`an encryption configuration is refused: ${error.source}, ${file.slice(0, 200)}`, () => {
    assert.throws(
      () => parseEncryptionFile(file, { names, builtIn }),
      (cause) => {
        assert.ok(cause instanceof ConfigError)
        assert.match(cause.message, error)
        assert.ok(!cause.message.includes('SECRET') && !cause.message.includes(secret), cause.message)
        assert.ok(!cause.message.includes('\n'))
        return true
      },
    )
  })
}

void test('resources of groups without built-in kinds are custom ones', () => {
  const file = withResource('secrets, ingressclasses.networking.k8s.io, widgets.example.com')
  const rules = parseEncryptionFile(file, { names, builtIn })
  assert.deepEqual(
    rules.map(({ place }) => place),
    ['/secrets/', 'networking.k8s.io/ingressclasses/', 'example.com/widgets/'],
  )
})
