/*
 * Goal: a new Pod has its seccomp profile in its fields and in its annotations, whichever of them
 * was sent. Method: the shipped verbs on the state machine in memory, in both domains; each profile
 * on either side, and both at once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { memberOf, objectMember, objectsMember } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { Fixture } from '../../registry/fixture.ts'
import type { Got } from '../../registry/fixture.ts'
import { container, createPod } from './pod-samples.ts'

const domains = [
  ['orch.io', 'seccomp.security.alpha.orch.io/pod', 'container.seccomp.security.alpha.orch.io/'],
  ['k8s.io', 'seccomp.security.alpha.kubernetes.io/pod', 'container.seccomp.security.alpha.kubernetes.io/'],
] as const

const words: readonly (readonly [annotation: string, profile: JsonObject])[] = [
  ['unconfined', { type: 'Unconfined' }],
  ['runtime/default', { type: 'RuntimeDefault' }],
  ['localhost/profiles/a.json', { type: 'Localhost', localhostProfile: 'profiles/a.json' }],
]

function profileIn(of: JsonObject | undefined): unknown {
  return memberOf(objectMember(of ?? {}, 'securityContext'), 'seccompProfile')
}

function profilesOf({ object }: Got): readonly unknown[] {
  const spec = objectMember(object, 'spec')
  const containers = ['initContainers', 'containers'].flatMap((list) => objectsMember(spec, list))
  return [spec, ...containers].map(profileIn)
}

function annotationsOf({ object }: Got): unknown {
  return memberOf(objectMember(object, 'metadata'), 'annotations')
}

/** The name must be unique in a namespace. */
function named(at: number): JsonObject {
  return { name: `p${at}` }
}

for (const [domain, podKey, prefix] of domains) {
  void test(`${domain}: a profile in annotations is copied to the fields of a new Pod`, async (t) => {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const spec = {
      initContainers: [container({ name: 'first', securityContext: { privileged: true } })],
      containers: [container(), container({ name: 'other' })],
    }
    for (const [at, [annotation, profile]] of words.entries()) {
      const annotations = {
        [podKey]: annotation,
        [`${prefix}first`]: annotation,
        [`${prefix}main`]: annotation,
      }
      const got = await createPod(api, spec, { ...named(at), annotations })
      assert.deepEqual(profilesOf(got), [profile, profile, profile, undefined])
      assert.deepEqual(annotationsOf(got), annotations)
    }
    const old = await createPod(api, {}, { ...named(8), annotations: { [podKey]: 'docker/default' } })
    assert.deepEqual(profilesOf(old), [{ type: 'RuntimeDefault' }, undefined])
  })

  void test(`${domain}: a profile in fields is copied to the annotations of a new Pod`, async (t) => {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    for (const [at, [annotation, seccompProfile]] of words.entries()) {
      const securityContext = { seccompProfile }
      const initContainers = [container({ name: 'first', securityContext })]
      const got = await createPod(
        api,
        { securityContext, initContainers, containers: [container({ securityContext })] },
        { ...named(at), annotations: { a: 'b' } },
      )
      const wanted = { [podKey]: annotation, [`${prefix}first`]: annotation, [`${prefix}main`]: annotation }
      assert.deepEqual(annotationsOf(got), { a: 'b', ...wanted })
      assert.deepEqual(profilesOf(got), [seccompProfile, seccompProfile, seccompProfile])
    }
  })

  void test(`${domain}: equal profiles stay, and annotations that are added later change no field`, async (t) => {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const seccompProfile = { type: 'Unconfined' }
    const annotations = { [podKey]: 'unconfined' }
    const got = await createPod(api, { securityContext: { seccompProfile } }, { annotations })
    assert.deepEqual(annotationsOf(got), annotations)
    const body = { metadata: { annotations: { [`${prefix}main`]: 'unconfined' } } }
    const changed = await api.patch({ kind: 'Pod', name: 'a', body })
    assert.deepEqual(profilesOf(changed), [seccompProfile, undefined])
  })
}

void test('a Pod without profiles gets none, and the annotation of a template is not copied to its fields', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const got = await createPod(api)
  assert.deepEqual([annotationsOf(got), ...profilesOf(got)], [undefined, undefined, undefined])
  const annotations = { [namesOf('orch.io').labelUnder('seccomp.security.alpha', 'pod')]: 'unconfined' }
  const template = { metadata: { annotations }, spec: { containers: [container()] } }
  const made = await api.create({ kind: 'PodTemplate', body: { metadata: { name: 'a' }, template } })
  assert.equal(profileIn(objectMember(objectMember(made.object, 'template'), 'spec')), undefined)
})
