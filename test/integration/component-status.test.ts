/*
 * Goal: ComponentStatuses show members, controllers and store as release 1.24 shows its components:
 * deprecated, to callers with the permission, in every representation.
 * Method: the whole server of one member in this process, over HTTPS.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember, textMember, textsMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { AccessServer } from '../support/fixtures/access-server.ts'
import { until } from '../support/tools/until.ts'

const path = '/api/v1/componentstatuses'

function parsed(text: string): JsonObject {
  return JSON.parse(text) as JsonObject
}

void test('components are listed, deprecated and only for callers with the permission', async (t) => {
  const server = await AccessServer.start(t, { name: 'n1', 'api-domain': 'k8s.io' })
  const conditions = async (): Promise<readonly string[]> =>
    objectsMember(parsed((await server.admin(path)).text), 'items').map((item) => {
      const [condition = {}] = objectsMember(item, 'conditions')
      const name = textMember(objectMember(item, 'metadata'), 'name')
      return [name, textMember(condition, 'status'), textMember(condition, 'message')].join(' ')
    })
  const all = ['controllers True ok', 'member-n1 True ok', 'store True ok']
  // The leader reports its status soon after its election.
  await until('all are healthy', async () => String(await conditions()) === String(all))

  const got = await server.admin(`${path}/member-n1`)
  assert.equal(got.headers['warning'], '299 - "v1 ComponentStatus is deprecated in v1.19+"')
  assert.deepEqual(parsed(got.text), {
    ...{ kind: 'ComponentStatus', apiVersion: 'v1' },
    metadata: { name: 'member-n1', creationTimestamp: null },
    conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
  })
  const forbidden = await server.bearer('static-token', path)
  assert.equal(forbidden.status, 403)
  assert.match(forbidden.text, /cannot list resource \\"componentstatuses\\" in API group/)
  assert.equal((await server.admin(path, { method: 'POST', body: {} })).status, 405)
  assert.equal((await server.admin(`${path}?watch=true`)).status, 405)

  const table = await server.admin(path, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  })
  const columns = objectsMember(parsed(table.text), 'columnDefinitions').map((one) => one['name'])
  assert.deepEqual(columns, ['Name', 'Status', 'Message', 'Error'])
  assert.deepEqual(
    objectsMember(parsed(table.text), 'rows').map(({ cells }) => cells),
    [
      ['controllers', 'Healthy', 'ok', ''],
      ['member-n1', 'Healthy', 'ok', ''],
      ['store', 'Healthy', 'ok', ''],
    ],
  )
  const message = await server.admin(path, { headers: { accept: 'application/vnd.kubernetes.protobuf' } })
  assert.match(
    message.text,
    /^k8s\0[^]*v1[^]*ComponentStatusList[^]*controllers[^]*member-n1[^]*store[^]*Healthy/,
  )

  const { resources } = parsed((await server.admin('/api/v1')).text)
  const entry = (resources as readonly JsonObject[]).find(({ name }) => name === 'componentstatuses')
  assert.deepEqual(entry, {
    ...{ name: 'componentstatuses', singularName: '', namespaced: false, kind: 'ComponentStatus' },
    ...{ verbs: ['get', 'list'], shortNames: ['cs'] },
  })
  const swagger = parsed((await server.admin('/openapi/v2')).text)
  const paths = objectMember(swagger, 'paths')
  const operations = Object.keys(objectMember(paths, path))
  assert.deepEqual(
    operations.filter((name) => name !== 'parameters'),
    ['get'],
  )
  assert.deepEqual(textsMember(objectMember(objectMember(paths, `${path}/{name}`), 'get'), 'tags'), [
    'core_v1',
  ])
})
