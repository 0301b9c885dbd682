/*
 * Goal: custom kinds are in the OpenAPI documents as upstream has them, whatever their names;
 * documents change with the kinds, and only what has changed is rebuilt.
 * Method: custom kinds constructed by the test, next to built-in ones. The number of turns measures
 * the work.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withChildren } from '../../../../../src/api/custom/schema-children.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { isJsonList, isJsonObject, objectMember } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { Names } from '../../../../../src/api/metadata/names.ts'
import { Catalog } from '../../../../../src/registry/kinds/catalog.ts'
import type { ObjectSchema, Schema } from '../../../../../src/api/schema/schema.ts'
import type {
  ResourceDefinition,
  SubresourceDefinition,
} from '../../../../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { openApiDocuments } from '../../../../../src/server/openapi/documents.ts'
import type { StaticDocument } from '../../../../../src/server/responses/static-document.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { readDocument } from './protobuf-reader.ts'

const upstream = namesOf('k8s.io')
const orch = namesOf('orch.io')

class Documents {
  readonly catalog: Catalog
  readonly documents: ReturnType<typeof openApiDocuments>
  turns = 0

  constructor(names: Names = upstream) {
    const kinds = ['ConfigMap', 'Namespace', 'Member']
    this.catalog = new Catalog(definitionsFor(names).filter(({ kind }) => kinds.includes(kind)))
    const turn = async (): Promise<void> => {
      this.turns++
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.documents = openApiDocuments({ catalog: this.catalog, names, version: 'v1', turn }, true)
  }

  async v2(): Promise<JsonObject> {
    return jsonOf(await this.documents.v2())
  }

  v3(path: string): JsonObject {
    const document = this.documents.v3?.document(path)
    assert.ok(document)
    return jsonOf(document)
  }

  async index(): Promise<StaticDocument> {
    assert.ok(this.documents.v3)
    return this.documents.v3.index()
  }
}

function jsonOf({ bytes }: StaticDocument): JsonObject {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as JsonObject
}

function references(json: Json): string[] {
  if (isJsonList(json)) return json.flatMap(references)
  if (!isJsonObject(json)) return []
  return Object.entries(json).flatMap(([name, value]) =>
    name === '$ref' && typeof value === 'string' ? [value] : references(value),
  )
}

function assertReferencesResolve(document: JsonObject): void {
  const found = references(document)
  assert.ok(found.length > 0)
  for (const reference of found) {
    let at: Json = document
    for (const step of reference.slice(2).split('/')) at = objectMember(at, step)
    assert.ok(Object.keys(at).length > 0, reference)
  }
}

/**
 * Returns a schema with keywords that Swagger 2.0 can express and keywords that it cannot.
 * @param x prefix of the extensions, such as `x-kubernetes-`
 */
function tabSchema(x: string): JsonObject {
  return {
    type: 'object',
    description: 'A tab.',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['perhaps', 'sure'],
        properties: {
          perhaps: { type: 'array', nullable: true, items: { type: 'string' } },
          sure: {
            type: 'string',
            minLength: 1,
            pattern: '^a',
            enum: ['a', 'ab'],
            default: 'a',
            title: 'Sure',
          },
          count: { type: 'integer', format: 'int64', minimum: 1, exclusiveMinimum: true, multipleOf: 2 },
          port: { [`${x}int-or-string`]: true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          raw: {
            type: 'object',
            [`${x}preserve-unknown-fields`]: true,
            properties: { a: { type: 'string' } },
          },
          template: {
            type: 'object',
            [`${x}embedded-resource`]: true,
            properties: { spec: { type: 'object' } },
          },
          names: {
            type: 'array',
            items: { type: 'string' },
            [`${x}list-type`]: 'set',
            maxItems: 3,
            minItems: 1,
          },
          open: { type: 'object', additionalProperties: true, maxProperties: 4 },
          map: { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1 },
        },
        oneOf: [{ required: ['count'] }, { required: ['port'] }],
        not: { required: ['raw'] },
      },
    },
  }
}

const tabs = (
  names: Names,
  published: JsonObject = tabSchema(names.schemaMarkerPrefix),
): ResourceDefinition =>
  customKind({
    ...{ group: 'stable.example.com', plural: 'crontabs', kind: 'CronTab', published },
    custom: { uid: 'u', listKind: 'CronTabCollection', published },
    subresources: [
      { name: 'status', verbs: ['get', 'update', 'patch'], prepareForUpdate: (object) => object },
    ],
  })

for (const names of [upstream, orch]) {
  const marker = `${names.schemaMarkerPrefix}group-version-kind`

  void test(`spec 4.1: a custom kind is in the documents under its own names, ${names.domain}`, async () => {
    const all = new Documents(names)
    all.catalog.setCustom([tabs(names)])
    const v2 = await all.v2()
    const v3 = all.v3('apis/stable.example.com/v1')
    assertReferencesResolve(v2)
    assertReferencesResolve(v3)
    const gvk = { group: 'stable.example.com', version: 'v1' }
    const base = '/apis/stable.example.com/v1'
    for (const [document, definitions] of [
      [v2, objectMember(v2, 'definitions')],
      [v3, objectMember(objectMember(v3, 'components'), 'schemas')],
    ] as const) {
      const object = objectMember(definitions, 'com.example.stable.v1.CronTab')
      const list = objectMember(definitions, 'com.example.stable.v1.CronTabCollection')
      assert.deepEqual(object[marker], [{ ...gvk, kind: 'CronTab' }])
      assert.deepEqual(list[marker], [{ ...gvk, kind: 'CronTabCollection' }])
      const properties = objectMember(object, 'properties')
      assert.deepEqual(Object.keys(properties).toSorted(), ['apiVersion', 'kind', 'metadata', 'spec'])
      assert.match(references(objectMember(properties, 'metadata')).join(), /meta[.]v1[.]ObjectMeta$/)
      const paths = objectMember(document, 'paths')
      assert.deepEqual(
        Object.keys(paths).filter((path) => path.startsWith(base)),
        [
          `${base}/crontabs`,
          `${base}/namespaces/{namespace}/crontabs`,
          `${base}/namespaces/{namespace}/crontabs/{name}`,
          `${base}/namespaces/{namespace}/crontabs/{name}/status`,
        ],
      )
      const patch = objectMember(
        objectMember(paths, `${base}/namespaces/{namespace}/crontabs/{name}`),
        'patch',
      )
      assert.equal(patch['operationId'], 'patchStableExampleComV1NamespacedCronTab')
      assert.deepEqual(patch[marker], { ...gvk, kind: 'CronTab' })
      assert.doesNotMatch(JSON.stringify(patch), /strategic|protobuf/)
      assert.match(JSON.stringify(patch), /fieldValidation/)
    }
    assert.deepEqual(readDocument((await all.documents.v2Protobuf()).bytes), v2)
  })

  void test(`spec 4.10: extensions have both names, ${names.domain}`, () => {
    const all = new Documents(names)
    all.catalog.setCustom([tabs(names)])
    const v3 = all.v3('apis/stable.example.com/v1')
    const schemas = objectMember(objectMember(v3, 'components'), 'schemas')
    const tab = objectMember(objectMember(schemas, 'com.example.stable.v1.CronTab'), 'properties')
    const spec = objectMember(objectMember(tab, 'spec'), 'properties')
    for (const x of new Set([names.schemaMarkerPrefix, names.clientMarkerPrefix])) {
      assert.equal(objectMember(spec, 'raw')[`${x}preserve-unknown-fields`], true)
      assert.equal(objectMember(spec, 'names')[`${x}list-type`], 'set')
      assert.equal(objectMember(spec, 'port')[`${x}int-or-string`], true)
    }
  })
}

void test('keywords that this release does not know are not published', async () => {
  for (const names of [upstream, orch]) {
    const known = tabSchema(names.schemaMarkerPrefix)
    const later = { later: { type: 'string' }, 'x-later': 1, [`${names.schemaMarkerPrefix}later`]: true }
    const withLater = (json: JsonObject): JsonObject => ({ ...withChildren(json, withLater), ...later })
    const [all, plain] = [new Documents(names), new Documents(names)]
    all.catalog.setCustom([tabs(names, withLater(known))])
    plain.catalog.setCustom([tabs(names, known)])
    const path = 'apis/stable.example.com/v1'
    assert.deepEqual(await all.v2(), await plain.v2())
    assert.deepEqual(all.v3(path), plain.v3(path))
  }
})

void test('version 3 has all of a schema, version 2 what it can express', async () => {
  const all = new Documents()
  all.catalog.setCustom([tabs(upstream)])
  const v3 = all.v3('apis/stable.example.com/v1')
  const schemas = objectMember(objectMember(v3, 'components'), 'schemas')
  const specOf = (definitions: JsonObject): JsonObject =>
    objectMember(
      objectMember(objectMember(definitions, 'com.example.stable.v1.CronTab'), 'properties'),
      'spec',
    )
  const asWritten = objectMember(objectMember(tabSchema('x-kubernetes-'), 'properties'), 'spec')
  const whole = specOf(schemas)
  const { template, ...others } = objectMember(whole, 'properties')
  const { template: written, ...otherWritten } = objectMember(asWritten, 'properties')
  assert.deepEqual({ ...whole, properties: others }, { ...asWritten, properties: otherWritten })
  assert.deepEqual(Object.keys(objectMember(template as JsonObject, 'properties')).toSorted(), [
    ...['apiVersion', 'kind', 'metadata', 'spec'],
  ])
  assert.ok(written !== undefined)
  const less = specOf(objectMember(await all.v2(), 'definitions'))
  assert.deepEqual([less['oneOf'], less['not'], less['required']], [undefined, undefined, ['sure']])
  const members = objectMember(less, 'properties')
  assert.deepEqual(members['perhaps'], {})
  assert.deepEqual(members['port'], { 'x-kubernetes-int-or-string': true })
  assert.equal(objectMember(members, 'raw')['properties'], undefined)
  const { sure, count, names, map } = members
  const { sure: sureWas, count: countWas, names: namesWere, map: mapWas } = otherWritten
  assert.deepEqual(
    { sure, count, names, map },
    { sure: sureWas, count: countWas, names: namesWere, map: mapWas },
  )
})

void test('version 2 describes a kind that preserves unknown fields, or has no schema, as an object only', async () => {
  const all = new Documents()
  const open: JsonObject = { ...tabSchema('x-kubernetes-'), 'x-kubernetes-preserve-unknown-fields': true }
  const gvk = 'x-kubernetes-group-version-kind'
  for (const kind of [
    tabs(upstream, open),
    customKind({ group: 'stable.example.com', plural: 'crontabs', kind: 'CronTab' }),
  ]) {
    all.catalog.setCustom([kind])
    const definitions = objectMember(await all.v2(), 'definitions')
    const { [gvk]: marked, ...rest } = objectMember(definitions, 'com.example.stable.v1.CronTab')
    assert.ok(marked !== undefined)
    assert.deepEqual(rest, { type: 'object' })
  }
})

void test('numbers beyond 2^53 keep their digits', async () => {
  const all = new Documents()
  const spec = { type: 'integer', minimum: -9223372036854775808n, default: 9007199254740993n }
  all.catalog.setCustom([tabs(upstream, { type: 'object', properties: { spec } })])
  const text = Buffer.from((await all.documents.v2()).bytes).toString('utf8')
  assert.match(text, /"minimum":-9223372036854775808,"default":9007199254740993/)
  const v3 = all.documents.v3?.document('apis/stable.example.com/v1')
  assert.match(Buffer.from(v3?.bytes ?? []).toString('utf8'), /"default":9007199254740993/)
  assert.ok((await all.documents.v2Protobuf()).bytes.byteLength > 0)
})

void test('no name of a custom kind changes the definitions of built-in kinds', async () => {
  const all = new Documents()
  const before = objectMember(await all.v2(), 'definitions')
  const named = (group: string, kind: string): ResourceDefinition =>
    customKind({ group, kind, plural: `${kind.toLowerCase()}s`, published: tabSchema('x-kubernetes-') })
  const replicas: Schema = { type: 'integer', format: 'int32' }
  const spec: Schema = { type: 'object', definition: 'autoscaling.v1.ScaleSpec', properties: { replicas } }
  const schema: ObjectSchema = { type: 'object', definition: 'autoscaling.v1.Scale', properties: { spec } }
  const scale: SubresourceDefinition = {
    name: 'scale',
    verbs: ['create'],
    body: { group: 'autoscaling', version: 'v1', kind: 'Scale', schema },
    operation: () => ({ kind: 'delete', options: {} }),
  }
  all.catalog.setCustom([
    named('core.api.k8s.io', 'ConfigMap'),
    ...['Scale', 'ScaleSpec'].map((kind) => ({
      ...named('autoscaling.api.k8s.io', kind),
      subresources: [scale],
    })),
    ...['ObjectMeta', 'ListMeta', 'Status', 'DeleteOptions', 'Patch', 'StatusDetails'].map((kind) =>
      named('meta.apis.pkg.apimachinery.k8s.io', kind),
    ),
  ])
  const v2 = await all.v2()
  assertReferencesResolve(v2)
  const after = objectMember(v2, 'definitions')
  for (const [name, shape] of Object.entries(before)) assert.deepEqual(after[name], shape, name)
  assert.deepEqual(readDocument((await all.documents.v2Protobuf()).bytes), v2)
  assertReferencesResolve(all.v3('apis/meta.apis.pkg.apimachinery.k8s.io/v1'))
  assertReferencesResolve(all.v3('apis/core.api.k8s.io/v1'))
  const v3 = all.v3('apis/autoscaling.api.k8s.io/v1')
  assertReferencesResolve(v3)
  const schemas = objectMember(objectMember(v3, 'components'), 'schemas')
  const shape = objectMember(objectMember(schemas, 'io.k8s.api.autoscaling.v1.ScaleSpec'), 'properties')
  assert.deepEqual(Object.keys(shape), ['replicas'])
})

void test('a list with the name of another kind of the group does not replace that kind', async () => {
  const all = new Documents()
  const lists = {
    group: 'example.com',
    plural: 'tablists',
    kind: 'TabList',
    published: tabSchema('x-kubernetes-'),
  }
  all.catalog.setCustom([
    customKind(lists),
    customKind({ group: 'example.com', plural: 'tabs', kind: 'Tab' }),
  ])
  const v2 = await all.v2()
  assertReferencesResolve(v2)
  const properties = objectMember(
    objectMember(objectMember(v2, 'definitions'), 'com.example.v1.TabList'),
    'properties',
  )
  assert.ok(properties['spec'] !== undefined)
})

void test('documents change exactly when their content does', async () => {
  const all = new Documents()
  const { catalog, documents } = all
  const seen = async () => ({
    v2: await documents.v2(),
    binary: await documents.v2Protobuf(),
    index: await all.index(),
    core: documents.v3?.document('api/v1'),
    custom: documents.v3?.document('apis/stable.example.com/v1') ?? null,
  })
  const first = await seen()
  assert.equal(first.custom, null)
  catalog.setCustom([tabs(upstream)])
  const second = await seen()
  assert.equal(second.core, first.core)
  for (const what of ['v2', 'binary', 'index'] as const)
    assert.notEqual(second[what].etag, first[what].etag, what)
  // The same definition as another JavaScript object.
  catalog.setCustom([tabs(upstream)])
  const third = await seen()
  for (const what of ['v2', 'binary', 'index'] as const)
    assert.equal(third[what].etag, second[what].etag, what)
  assert.equal(third.custom?.etag, second.custom?.etag)
  assert.equal(third.v2, second.v2)
  // Another schema of the same kind.
  catalog.setCustom([tabs(upstream, { type: 'object', properties: { spec: { type: 'string' } } })])
  const fourth = await seen()
  for (const what of ['v2', 'binary', 'index'] as const)
    assert.notEqual(fourth[what].etag, third[what].etag, what)
  assert.notEqual(fourth.custom?.etag, third.custom?.etag)
  assert.equal(fourth.core, first.core)
  // Without the kind everything is as before.
  catalog.setCustom([])
  const last = await seen()
  for (const what of ['v2', 'binary', 'index'] as const) {
    assert.equal(last[what].etag, first[what].etag, what)
    assert.deepEqual(last[what].bytes, first[what].bytes, what)
  }
  assert.equal(last.custom, null)
})

void test('a burst of definitions costs nothing until a request; concurrent requests then encode each definition once', async () => {
  const all = new Documents()
  const { catalog, documents } = all
  await all.v2()
  await all.index()
  const before = all.turns
  const many: ResourceDefinition[] = []
  for (let at = 0; at < 200; at++) {
    many.push(
      customKind({
        group: `g${at}.example.com`,
        plural: 'tabs',
        kind: 'Tab',
        published: tabSchema('x-kubernetes-'),
      }),
    )
    catalog.setCustom(many)
  }
  assert.equal(all.turns, before)
  const requested = await Promise.all(Array.from({ length: 8 }, () => documents.v2()))
  assert.equal(new Set(requested).size, 1)
  // Four kinds per turn.
  assert.equal(all.turns - before, 50)
  assert.equal(
    Object.keys(objectMember(await all.v2(), 'definitions')).filter((name) => name.endsWith('.Tab')).length,
    200,
  )
  const beforeOne = all.turns
  catalog.setCustom([...many, tabs(upstream)])
  await all.v2()
  assert.equal(all.turns - beforeOne, 1)
  const beforeIndex = all.turns
  await all.index()
  assert.equal(all.turns - beforeIndex, 201)
  catalog.setCustom(many)
  await all.index()
  assert.equal(all.turns - beforeIndex, 201)
})

void test('a request during a rebuild gets a document with all kinds at the time of the request', async () => {
  const all = new Documents()
  const { catalog, documents } = all
  const names = (document: JsonObject): boolean =>
    Object.hasOwn(objectMember(document, 'definitions'), 'com.example.stable.v1.CronTab')
  catalog.setCustom([customKind({ group: 'example.com', plural: 'tabs', kind: 'Tab' })])
  const early = documents.v2()
  await new Promise((resolve) => setImmediate(resolve))
  catalog.setCustom([tabs(upstream)])
  const late = documents.v2()
  assert.ok(!names(jsonOf(await early)))
  assert.ok(names(jsonOf(await late)))
})
