/*
 * Goal: a template has the rules and defaults of a Pod, except for those that only apply to a Pod.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { objectMember, objectsMember } from '../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'
import { container } from './pods/pod-samples.ts'

const kind = 'PodTemplate'

function createTemplate(api: Fixture, spec: JsonObject, metadata: JsonObject = {}): Promise<Got> {
  const template = { metadata, spec: { containers: [container()], ...spec } }
  return api.create({ kind, body: { kind, metadata: { name: 'a' }, template } })
}

void test('a template gets the defaults of a Pod, except for those that depend on running', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const limits = { cpu: '1' }
  const got = await createTemplate(api, {
    containers: [container({ image: 'app', resources: { limits } })],
    volumes: [{ name: 'v' }],
  })
  const spec = objectMember(objectMember(got.object, 'template'), 'spec')
  const [first] = objectsMember(spec, 'containers')
  assert.deepEqual([first?.['imagePullPolicy'], first?.['resources']], ['Always', { limits }])
  assert.deepEqual([spec['restartPolicy'], spec['enableServiceLinks']], ['Always', undefined])
  assert.deepEqual(spec['volumes'], [{ name: 'v', emptyDir: {} }])
  assert.equal(got.object.metadata.generation, 1)
  const changed = await api.patch({ kind, name: 'a', body: { template: { spec: { hostname: 'h' } } } })
  assert.equal(changed.object.metadata.generation, 2, 'a template may change')
})

void test('a template has the rules of a Pod, except that spaces around images are accepted', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rows: readonly (readonly [spec: JsonObject, cause: string])[] = [
    [{ containers: [] }, 'FieldValueRequired template.spec.containers'],
    [{ restartPolicy: 'Once' }, 'FieldValueNotSupported template.spec.restartPolicy'],
    [{ volumes: [{ name: 'v' }, { name: 'v' }] }, 'FieldValueDuplicate template.spec.volumes[1].name'],
    [
      { ephemeralContainers: [container({ name: 'b' })] },
      'FieldValueForbidden template.spec.ephemeralContainers',
    ],
  ]
  for (const [spec, cause] of rows)
    assert.deepEqual(causes(await refused(createTemplate(api, spec))), [cause])
  const labelled = await refused(createTemplate(api, {}, { labels: { 'a b': '' } }))
  assert.deepEqual(causes(labelled), ['FieldValueInvalid template.metadata.labels'])
  const annotated = await refused(createTemplate(api, {}, { annotations: { 'a b': '' } }))
  assert.deepEqual(causes(annotated), ['FieldValueInvalid template.metadata.annotations'])
  assert.equal((await createTemplate(api, { containers: [container({ image: ' ' })] })).code, 201)
})

void test('the columns of a template show its containers', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const columns = api.definition(kind).columns ?? []
  assert.deepEqual(
    columns.map(({ name }) => name),
    ['Name', 'Containers', 'Images', 'Pod Labels'],
  )
  const two = { containers: [container({ image: 'x' }), container({ name: 'b', image: 'y' })] }
  const { object } = await createTemplate(api, two, { labels: { b: '2', a: '1' } })
  const cells = (of: Got['object']): readonly unknown[] =>
    columns.map(({ cell }) => cell({ ...of, apiVersion: 'v1' }))
  assert.deepEqual(cells(object), ['a', 'main,b', 'x,y', 'a=1,b=2'])
  await api.delete({ kind, name: 'a' })
  const plain = await createTemplate(api, {})
  assert.deepEqual(cells(plain.object), ['a', 'main', 'registry.test/app:1', '<none>'])
})
