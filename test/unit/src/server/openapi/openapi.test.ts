/*
 * Goal: the documents are complete, contain what clients look for, name the kind that each schema
 * and operation belongs to, and mean the same in all three forms.
 * Method: the server's own kinds, and one with every type of schema. The protobuf form is decoded
 * by a small reader with its own list of field numbers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { isJsonList, isJsonObject } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { Names } from '../../../../../src/api/metadata/names.ts'
import { Catalog } from '../../../../../src/registry/kinds/catalog.ts'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { contentHash } from '../../../../../src/server/http/content-hash.ts'
import { openApiDocuments } from '../../../../../src/server/openapi/documents.ts'
import { openApiV2 } from '../../../../../src/server/openapi/v2.ts'
import { openApiV3 } from '../../../../../src/server/openapi/v3.ts'
import type { StaticDocument } from '../../../../../src/server/responses/static-document.ts'
import { readDocument } from './protobuf-reader.ts'

const upstream = namesOf('k8s.io')
const orch = namesOf('orch.io')

/** Kinds of each scope, with and without subresources and a group. */
const few = definitionsFor(upstream).filter(({ kind }) =>
  ['ConfigMap', 'Namespace', 'Secret', 'Member'].includes(kind),
)

/** A kind of another group with every type of schema in it. */
const widget: ResourceDefinition = {
  ...(definitionsFor(upstream).find(({ kind }) => kind === 'ConfigMap') as ResourceDefinition),
  group: 'storage.k8s.io',
  version: 'v1beta1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Cluster',
  deleteReturnsObject: true,
  subresources: [],
  schema: {
    type: 'object',
    description: 'Has everything.',
    properties: {
      text: { type: 'string', enum: ['a', 'b'], default: 'a', lengthMax: 9 },
      bytes: { type: 'string', format: 'bytes' },
      flag: { type: 'boolean' },
      small: { type: 'integer', format: 'int32', minimum: 1, maximum: 5 },
      number: { type: 'number' },
      size: { type: 'quantity' },
      port: { type: 'int-or-string' },
      raw: { type: 'any' },
      map: { type: 'map', values: { type: 'quantity' } },
      empty: { type: 'object', properties: {}, default: {} },
      keyed: {
        type: 'list',
        items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        listType: 'map',
        listMapKeys: ['name'],
        patchMergeKey: 'name',
        patchStrategy: 'merge',
        itemsMax: 7,
      },
    },
    required: ['text'],
  },
}

function at(json: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  let value = json
  for (const step of path) {
    if (isJsonList(value)) value = value[Number(step)]
    else if (isJsonObject(value)) value = value[step]
    else return undefined
  }
  return value
}

function references(json: Json): string[] {
  if (isJsonList(json)) return json.flatMap(references)
  if (!isJsonObject(json)) return []
  return Object.entries(json).flatMap(([name, value]) =>
    name === '$ref' && typeof value === 'string' ? [value] : references(value),
  )
}

function partsOf(kinds: readonly ResourceDefinition[], names: Names, version: string) {
  return { catalog: new Catalog(kinds), names, version, turn: () => Promise.resolve() }
}

function documentsOf(kinds: readonly ResourceDefinition[], names: Names, version: string) {
  return openApiDocuments(partsOf(kinds, names, version), true)
}

function jsonOf({ bytes }: StaticDocument): JsonObject {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as JsonObject
}

const marker = 'x-kubernetes-group-version-kind'

/**
 * Returns the schemas in requests and responses of all operations: `[reference, marker of its
 * target, marker that the target must have]`.
 */
function markedUses(document: JsonObject): [string, Json, Json][] {
  const uses: [string, Json, Json][] = []
  for (const path of Object.values(document['paths'] as JsonObject)) {
    for (const operation of Object.values(path as JsonObject)) {
      const own = at(operation, marker)
      if (!isJsonObject(own)) continue
      const isList = at(operation, 'x-kubernetes-action') === 'list'
      const kind = typeof own['kind'] === 'string' ? own['kind'] : ''
      const given = { ...own, kind: isList ? `${kind}List` : kind }
      for (const reference of new Set(references(operation))) {
        uses.push([reference, at(document, ...reference.slice(2).split('/'), marker) ?? null, given])
      }
    }
  }
  return uses
}

for (const names of [upstream, orch]) {
  const kinds = [...definitionsFor(names), widget]

  void test(`spec 4.1: the schemas of an operation are marked with its kind, ${names.domain}`, () => {
    const isCommon = /meta[.]v1[.](Status|Patch|DeleteOptions)$/
    const uses = [openApiV2(kinds, names), openApiV3(kinds, names, 'v1')].flatMap(markedUses)
    assert.ok(uses.length > 0)
    for (const [reference, of, given] of uses) {
      if (!isCommon.test(reference)) assert.deepEqual([reference, of], [reference, [given]])
    }
    const definitions = openApiV2(kinds, names)['definitions'] as JsonObject
    for (const { group, version, kind } of kinds) {
      const marked = Object.values(definitions).filter((of) =>
        isDeepStrictEqual(at(of, marker), [{ group, kind, version }]),
      )
      assert.equal(marked.length, 1, `${group}/${version} ${kind}`)
    }
  })

  void test(`references in ${names.domain} documents lead to definitions, and paths agree`, () => {
    const v2 = openApiV2(kinds, names)
    assert.ok(references(v2).length > 1000)
    for (const reference of references(v2)) {
      assert.ok(at(v2, 'definitions', reference.replace('#/definitions/', '')), reference)
    }
    const v3 = openApiV3(kinds, names, 'v1.2.3')
    assert.ok(references(v3).length > 1000)
    for (const reference of references(v3)) {
      assert.ok(at(v3, 'components', 'schemas', reference.replace('#/components/schemas/', '')), reference)
    }
    assert.deepEqual(Object.keys(v2['paths'] as JsonObject), Object.keys(v3['paths'] as JsonObject))
  })

  void test(`operation ids of the ${names.domain} documents are all different`, () => {
    const ids: Json[] = []
    for (const path of Object.values(openApiV2(kinds, names)['paths'] as JsonObject)) {
      for (const operation of Object.values(path as JsonObject)) {
        const id = at(operation, 'operationId')
        if (id !== undefined) ids.push(id)
      }
    }
    assert.ok(ids.length > 500, `${ids.length} ids`)
    assert.equal(new Set(ids).size, ids.length)
  })

  void test(`the ${names.domain} protobuf form equals the JSON form`, async () => {
    const { v2, v2Protobuf } = documentsOf(kinds, names, 'v1.2.3')
    const document = jsonOf(await v2())
    const head = { swagger: '2.0', info: { title: 'Cluster control API', version: 'v1.2.3' } }
    assert.deepEqual(document, { ...head, ...openApiV2(kinds, names) })
    assert.deepEqual(readDocument((await v2Protobuf()).bytes), document)
  })
}

void test('a kind is found by the marker that existing clients look for, in both domains', () => {
  const gvk = [{ group: '', kind: 'ConfigMap', version: 'v1' }]
  const there = openApiV2(definitionsFor(upstream), upstream)
  const here = openApiV2(definitionsFor(orch), orch)
  const theirs = at(there, 'definitions', 'io.k8s.api.core.v1.ConfigMap')
  const ours = at(here, 'definitions', 'io.orch.api.core.v1.ConfigMap')
  assert.deepEqual(at(theirs, 'x-kubernetes-group-version-kind'), gvk)
  assert.deepEqual(at(ours, 'x-kubernetes-group-version-kind'), gvk)
  assert.deepEqual(at(ours, 'x-orch-group-version-kind'), gvk)
  assert.equal(at(theirs, 'x-orch-group-version-kind'), undefined)
})

void test('a path declares the parameters in it, and those of all its operations', () => {
  const document = openApiV3(definitionsFor(upstream), upstream, 'v1')
  const namesOfPath = (path: string): readonly unknown[] =>
    (at(document, 'paths', path, 'parameters') as JsonObject[]).map((parameter) => parameter['name'])
  assert.deepEqual(namesOfPath('/api/v1/namespaces/{namespace}/configmaps'), ['namespace', 'pretty'])
  assert.deepEqual(namesOfPath('/api/v1/namespaces/{namespace}/configmaps/{name}'), [
    ...['name', 'namespace', 'pretty'],
  ])
  assert.deepEqual(namesOfPath('/api/v1/nodes'), ['pretty'])
})

void test('an operation has its id, action, kind, parameters and media types', () => {
  const document = openApiV3(definitionsFor(upstream), upstream, 'v1')
  const patch = at(document, 'paths', '/api/v1/namespaces/{namespace}/configmaps/{name}', 'patch')
  assert.equal(at(patch, 'operationId'), 'patchCoreV1NamespacedConfigMap')
  assert.equal(at(patch, 'x-kubernetes-action'), 'patch')
  assert.deepEqual(at(patch, 'x-kubernetes-group-version-kind'), {
    group: '',
    kind: 'ConfigMap',
    version: 'v1',
  })
  const names = (at(patch, 'parameters') as JsonObject[]).map((parameter) => parameter['name'])
  assert.deepEqual(names, ['dryRun', 'fieldManager', 'fieldValidation', 'force'])
  assert.deepEqual(Object.keys(at(patch, 'requestBody', 'content') as JsonObject), [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
  ])
  const types = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
  assert.deepEqual(Object.keys(at(patch, 'responses', '200', 'content') as JsonObject), types)
  const swagger = openApiV2(definitionsFor(upstream), upstream)
  const configMap = at(swagger, 'paths', '/api/v1/namespaces/{namespace}/configmaps/{name}', 'get')
  assert.deepEqual(at(configMap, 'produces'), types)
})

void test('spec 4.1: a kind has a path for its collection, its objects and its subresources', () => {
  const paths = Object.keys(openApiV2(few, upstream)['paths'])
  assert.deepEqual(paths, [
    '/api/v1/configmaps',
    '/api/v1/namespaces',
    '/api/v1/namespaces/{namespace}/configmaps',
    '/api/v1/namespaces/{namespace}/configmaps/{name}',
    '/api/v1/namespaces/{namespace}/secrets',
    '/api/v1/namespaces/{namespace}/secrets/{name}',
    '/api/v1/namespaces/{name}',
    '/api/v1/namespaces/{name}/finalize',
    '/api/v1/namespaces/{name}/status',
    '/api/v1/secrets',
    '/apis/cluster.k8s.io/v1/members',
    '/apis/cluster.k8s.io/v1/members/{name}',
  ])
  const document = openApiV2([widget], upstream)
  const collection = at(document, 'paths', '/apis/storage.k8s.io/v1beta1/widgets')
  assert.equal(at(collection, 'delete', 'operationId'), 'deleteStorageV1beta1CollectionWidget')
  assert.deepEqual(at(collection, 'post', 'responses', '201', 'schema'), {
    $ref: '#/definitions/io.k8s.api.storage.v1beta1.Widget',
  })
})

void test('each operation lists the status codes of its responses', () => {
  const codesOf = (path: string): Json => {
    const operations = at(openApiV2(few, upstream), 'paths', path) as JsonObject
    return Object.fromEntries(
      Object.entries(operations)
        .filter(([method]) => method !== 'parameters')
        .map(([method, operation]) => [method, Object.keys(at(operation, 'responses') as JsonObject)]),
    )
  }
  assert.deepEqual(codesOf('/api/v1/namespaces/{namespace}/configmaps'), {
    get: ['200', '401'],
    post: ['200', '201', '202', '401'],
    delete: ['200', '401'],
  })
  assert.deepEqual(codesOf('/api/v1/namespaces/{namespace}/configmaps/{name}'), {
    get: ['200', '401'],
    put: ['200', '201', '401'],
    patch: ['200', '201', '401'],
    delete: ['200', '202', '401'],
  })
})

void test('an action on an object is a POST of another kind, answered with a Status', () => {
  const kinds = definitionsFor(orch).filter(({ group }) => group === '')
  const eviction = { group: 'policy', kind: 'Eviction', version: 'v1' }
  const path = '/api/v1/namespaces/{namespace}/pods/{name}/eviction'
  const v2 = openApiV2(kinds, orch)
  const post = at(v2, 'paths', path, 'post')
  assert.equal(at(post, 'operationId'), 'createCoreV1NamespacedPodEviction')
  assert.deepEqual(at(post, 'x-kubernetes-group-version-kind'), eviction)
  const definition = 'io.orch.api.policy.v1.Eviction'
  assert.deepEqual(at(post, 'parameters', 0, 'schema'), { $ref: `#/definitions/${definition}` })
  const status = '#/definitions/io.orch.api.meta.v1.Status'
  assert.deepEqual(at(post, 'responses', '201', 'schema'), { $ref: status })
  assert.deepEqual(at(v2, 'definitions', definition, 'x-orch-group-version-kind'), [eviction])
  assert.deepEqual(Object.keys(at(v2, 'paths', path) as JsonObject), ['parameters', 'post'])
  const v3 = openApiV3(kinds, orch, 'v1')
  for (const [of, id] of [
    ['/api/v1/namespaces/{namespace}/pods/{name}/binding', 'createCoreV1NamespacedPodBinding'],
    ['/api/v1/namespaces/{namespace}/bindings', 'createCoreV1NamespacedBinding'],
  ] as const) {
    const operation = at(v3, 'paths', of, 'post')
    assert.equal(at(operation, 'operationId'), id)
    assert.deepEqual(at(operation, 'x-orch-group-version-kind'), {
      group: '',
      kind: 'Binding',
      version: 'v1',
    })
    const body = at(operation, 'requestBody', 'content', '*/*', 'schema', '$ref')
    assert.equal(body, '#/components/schemas/io.orch.api.core.v1.Binding')
  }
})

void test('a schema keeps its lists, merge keys, bounds and defaults', () => {
  const properties = at(
    openApiV2([widget], upstream),
    'definitions',
    'io.k8s.api.storage.v1beta1.Widget',
    'properties',
  )
  assert.deepEqual(at(properties, 'text'), { default: 'a', type: 'string', enum: ['a', 'b'], maxLength: 9 })
  assert.deepEqual(at(properties, 'small'), { type: 'integer', format: 'int32', minimum: 1, maximum: 5 })
  assert.deepEqual(at(properties, 'keyed'), {
    type: 'array',
    items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    maxItems: 7,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    'x-kubernetes-patch-merge-key': 'name',
    'x-kubernetes-patch-strategy': 'merge',
  })
  const owners = at(
    openApiV2([widget], orch),
    'definitions',
    'io.orch.api.meta.v1.ObjectMeta',
    'properties',
    'ownerReferences',
  )
  assert.equal(at(owners, 'x-orch-patch-merge-key'), 'uid')
  assert.equal(at(owners, 'x-kubernetes-patch-merge-key'), 'uid')
})

void test('the index names every group and version with a hash that follows the content', async () => {
  const kinds = [...few, widget]
  const first = documentsOf(kinds, upstream, 'v1')
  const second = documentsOf(kinds, upstream, 'v2')
  const { v3 } = first
  assert.ok(v3 !== null && second.v3 !== null)
  const index = jsonOf(await v3.index())
  const paths = Object.keys(index['paths'] as JsonObject)
  assert.deepEqual(paths, paths.toSorted())
  for (const path of ['api/v1', 'apis/cluster.k8s.io/v1', 'apis/storage.k8s.io/v1beta1']) {
    assert.ok(paths.includes(path), path)
  }
  const url = at(index, 'paths', 'api/v1', 'serverRelativeURL')
  assert.ok(typeof url === 'string')
  assert.match(url, /^\/openapi\/v3\/api\/v1\?hash=[0-9a-f]{32}$/)
  assert.equal(v3.document('api/v1')?.etag, `"${url.split('=')[1]}"`)
  assert.notEqual(second.v3.document('api/v1')?.etag, v3.document('api/v1')?.etag)
  assert.equal(v3.document('apis/none/v1'), null)
  assert.equal(openApiDocuments(partsOf(kinds, upstream, 'v1'), false).v3, null)
  assert.equal(await first.v2(), await first.v2())
  assert.notEqual((await first.v2()).etag, (await second.v2()).etag)
})

void test('the hash depends on the order of the bytes', () => {
  const hashes = ['', 'a', 'b', 'ab', 'ba', 'aaaaa', 'aaaab', 'baaaa'].map((text) =>
    contentHash(Buffer.from(text)),
  )
  assert.equal(new Set(hashes).size, hashes.length)
})

void test('the description of a member is next to the reference, and a definition keeps its own', () => {
  const kinds = definitionsFor(upstream)
  const secret = 'io.k8s.api.core.v1.SecretReference'
  const member = ['io.k8s.api.core.v1.CSIPersistentVolumeSource', 'properties', 'nodeStageSecretRef']
  const description = 'Secret for staging the volume on a node.'
  const v2 = openApiV2(kinds, upstream)
  assert.equal(at(v2, 'definitions', secret, 'description'), 'Reference to a Secret in any namespace.')
  assert.deepEqual(at(v2, 'definitions', ...member), { description, $ref: `#/definitions/${secret}` })
  const v3 = openApiV3(kinds, upstream, 'v1')
  const allOf = [{ $ref: `#/components/schemas/${secret}` }]
  assert.deepEqual(at(v3, 'components', 'schemas', ...member), { description, allOf })
})
