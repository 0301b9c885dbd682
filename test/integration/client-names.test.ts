/*
 * Goal: definitions of kinds are readable under the name built into existing clients in either
 * domain, without a second kind and without writes under that name.
 * Method: requests over HTTP on the shipped verbs and machine; what the two names show is compared.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { Catalog } from '../../src/registry/kinds/catalog.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { openApiDocuments } from '../../src/server/openapi/documents.ts'
import { customDefinition } from '../support/fixtures/custom-definition.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

const OWN = '/apis/apiextensions.orch.io/v1/customresourcedefinitions'
const BUILT_IN = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const name = 'widgets.example.com'

/**
 * Returns a schema with extensions of prefix `x`, and with texts that look like extensions but are
 * names of properties or values.
 */
function marked(x: string): JsonObject {
  return {
    port: { [`${x}int-or-string`]: true },
    rest: { type: 'object', [`${x}preserve-unknown-fields`]: true },
    list: {
      type: 'array',
      [`${x}list-type`]: 'set',
      items: { type: 'string', enum: ['x-orch-list-type'] },
    },
    'x-orch-map-type': { type: 'object', additionalProperties: { [`${x}int-or-string`]: true } },
    open: { type: 'object', default: { 'x-orch-a': 1 }, [`${x}preserve-unknown-fields`]: true },
  }
}

void test('definitions are shown to clients that ask for them by their upstream name', async (t) => {
  const api = await SpecServer.start(t)
  const body = customDefinition(namesOf('orch.io'), { properties: marked('x-orch-') })
  const made = await api.ask('POST', OWN, { body })
  assert.equal(made.status, 201, made.text)

  const list = await api.ask('GET', BUILT_IN)
  assert.equal(list.status, 200, list.text)
  const own = (await api.ask('GET', OWN)).doc as unknown as JsonObject
  const shown = list.doc as unknown as JsonObject
  assert.equal(shown['apiVersion'], 'apiextensions.k8s.io/v1')
  assert.equal(shown['kind'], 'CustomResourceDefinitionList')
  assert.deepEqual(shown['metadata'], own['metadata'])
  const [item = {}] = objectsMember(shown, 'items')
  const [ownItem = {}] = objectsMember(own, 'items')
  assert.deepEqual(item['metadata'], ownItem['metadata'])
  const [version = {}] = objectsMember(objectMember(item, 'spec'), 'versions')
  const whole = objectMember(objectMember(version, 'schema'), 'openAPIV3Schema')
  assert.deepEqual(
    objectMember(objectMember(objectMember(whole, 'properties'), 'spec'), 'properties'),
    marked('x-kubernetes-'),
  )

  const one = (await api.ask('GET', `${BUILT_IN}/${name}`)).doc as unknown as JsonObject
  assert.equal(one['apiVersion'], 'apiextensions.k8s.io/v1')
  assert.deepEqual(one['spec'], item['spec'])
  const table = await api.ask('GET', BUILT_IN, {
    headers: { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
  })
  assert.match(table.text, /"cells":\["widgets\.example\.com",/)
})

void test('the upstream name is read-only and not listed in discovery', async (t) => {
  const names = namesOf('orch.io')
  const documented = { catalog: new Catalog(definitionsFor(names)), names, version: 'v1' }
  const openapi = openApiDocuments({ ...documented, turn: () => Promise.resolve() }, true)
  const api = await SpecServer.start(t, { dependencies: { openapi } })
  const type = 'application/json'
  const mine = JSON.stringify(customDefinition(names))
  assert.equal((await api.ask('POST', OWN, { type, body: mine })).status, 201)
  const theirs = JSON.stringify(customDefinition(namesOf('k8s.io'), { kind: 'Gadget' }))
  const refused = [
    await api.ask('POST', BUILT_IN, { type, body: theirs }),
    await api.ask('DELETE', BUILT_IN),
    await api.ask('DELETE', `${BUILT_IN}/${name}`),
    await api.ask('PUT', `${BUILT_IN}/${name}`, { type, body: theirs }),
    await api.ask('PATCH', `${BUILT_IN}/${name}`, { type: 'application/merge-patch+json', body: '{}' }),
  ]
  for (const { status, headers, text } of refused) {
    assert.equal(status, 405, text)
    assert.equal(headers.get('allow'), 'GET, HEAD')
  }
  assert.equal((await api.ask('GET', `${BUILT_IN}/${name}/status`)).status, 404)
  assert.equal((await api.ask('GET', `${OWN}/${name}`)).status, 200)
  for (const path of ['/apis', '/openapi/v2', '/openapi/v3']) {
    const { text } = await api.ask('GET', path)
    assert.ok(text.includes('apiextensions.orch.io'), path)
    assert.ok(!text.includes('apiextensions.k8s.io'), path)
  }
  assert.equal((await api.ask('GET', '/apis/apiextensions.k8s.io/v1')).status, 404)
})

void test('a cluster in the upstream domain has one kind of definitions', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  assert.equal((await api.ask('GET', BUILT_IN)).status, 200)
  assert.equal((await api.ask('GET', OWN)).status, 404)
})
