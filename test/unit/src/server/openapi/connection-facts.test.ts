/*
 * Goal: OpenAPI describes logs, streams and proxies as documents of release 1.24 do, so that client
 * generators make the same methods: ids, parameters, kinds, responses.
 * Method: the paths of the server's documents, in both domains and both dialects, against a table
 * (`facts/openapi-connections.txt`).
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  isJsonObject,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
  withoutMembers,
} from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { Names } from '../../../../../src/api/metadata/names.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { openApiV2 } from '../../../../../src/server/openapi/v2.ts'
import { openApiV3 } from '../../../../../src/server/openapi/v3.ts'

type Connecting = {
  readonly kind: string
  /** Media types of responses: `any`; or `text`: text and, for errors, those of objects. */
  readonly types: string
  readonly query: readonly string[]
  /** The ids of operations by method. */
  readonly operations: { readonly [method: string]: string }
}

const file = normalize(
  fileURLToPath(new URL('../../../../../../test/facts/openapi-connections.txt', import.meta.url)),
)
const table = readTable()

function readTable(): ReadonlyMap<string, Connecting> {
  const [, ...blocks] = readFileSync(file, 'utf8').trimEnd().split('\n\n')
  return new Map(
    blocks.map((block) => {
      const [head = '', query = '', ...operations] = block.split('\n').map((line) => line.trim())
      const [path = '', kind = '', types = ''] = head.split(' ')
      const ids = operations.map((line) => line.split(' ') as [string, string])
      return [path, { kind, types, query: query.split('; '), operations: Object.fromEntries(ids) }]
    }),
  )
}

/** Returns the parameters of a path as in the table, and those in the path by name. */
function parametersOf(item: JsonObject, dialect: 'v2' | 'v3'): Pick<Connecting, 'query'> & { path: object } {
  const all = objectsMember(item, 'parameters')
  assert.deepEqual(
    all.map((one) => textMember(one, 'name')),
    all.map((one) => textMember(one, 'name')).toSorted(),
  )
  const typeOf = (one: JsonObject): string =>
    textMember(dialect === 'v2' ? one : objectMember(one, 'schema'), 'type')
  const inPath = all.filter((one) => textMember(one, 'in') === 'path')
  return {
    query: all
      .filter((one) => textMember(one, 'in') === 'query')
      .map((one) => `${textMember(one, 'name')} ${typeOf(one)}`),
    path: Object.fromEntries(inPath.map((one) => [textMember(one, 'name'), one['required']])),
  }
}

/** Returns the media types of a response, and asserts that its body is a text. */
function typesOf(operation: JsonObject, dialect: 'v2' | 'v3'): readonly string[] {
  const ok = objectMember(objectMember(operation, 'responses'), '200')
  if (dialect === 'v2') {
    assert.deepEqual(ok['schema'], { type: 'string' })
    return textsMember(operation, 'produces')
  }
  const content = Object.entries(objectMember(ok, 'content'))
  for (const [, shape] of content) assert.deepEqual(shape, { schema: { type: 'string' } })
  return content.map(([type]) => type)
}

function connectionsOf(paths: JsonObject): readonly (readonly [string, JsonObject])[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    /\/(attach|exec|log|portforward|proxy)(\/|$)/.test(path) && isJsonObject(item) ? [[path, item]] : [],
  )
}

function compare(names: Names, dialect: 'v2' | 'v3', paths: JsonObject): void {
  const found = new Map(connectionsOf(paths))
  assert.deepEqual([...found.keys()].toSorted(), [...table.keys()].toSorted())
  const objects = ['application/json', 'application/yaml', names.protobufMediaType]
  for (const [path, { kind, types, query, operations }] of table) {
    const methods = withoutMembers(found.get(path) ?? {}, 'parameters')
    const given = parametersOf(found.get(path) ?? {}, dialect)
    assert.deepEqual(given.query, query, path)
    const places = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true])
    assert.deepEqual(given.path, Object.fromEntries(places), path)
    const ids = Object.entries(methods).map(([method, operation]) => {
      assert.ok(isJsonObject(operation))
      const gvk = operation[`${names.clientMarkerPrefix}group-version-kind`]
      assert.deepEqual(gvk, { group: '', kind, version: 'v1' })
      const isLog = types === 'text'
      assert.equal(operation[`${names.clientMarkerPrefix}action`], isLog ? 'get' : 'connect')
      assert.deepEqual(typesOf(operation, dialect), isLog ? ['text/plain', ...objects] : ['*/*'], path)
      return [method, textMember(operation, 'operationId')]
    })
    assert.deepEqual(Object.fromEntries(ids), operations, path)
  }
}

for (const domain of ['k8s.io', 'orch.io'] as const) {
  void test(`spec 4.1: OpenAPI of ${domain} describes logs, streams and proxies as release 1.24 does`, () => {
    const names = namesOf(domain)
    const kinds = definitionsFor(names).filter(({ group }) => group === '')
    compare(names, 'v2', openApiV2(kinds, names).paths)
    compare(names, 'v3', objectMember(openApiV3(kinds, names, 'v1'), 'paths'))
  })
}
