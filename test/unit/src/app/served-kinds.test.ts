/*
 * Goal: the served kinds follow the stage of a version and the switches, of which the narrower one
 * decides.
 * Method: made-up kinds of each stage, and values of --runtime-config.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartError } from '../../../../src/config/start-error.ts'
import { servedKinds } from '../../../../src/app/served-kinds.ts'
import { runtimeConfigFlag } from '../../../../src/config/runtime-config.ts'
import type { ResourceDefinition } from '../../../../src/registry/kinds/definition.ts'

function kind(group: string, version: string, plural: string): ResourceDefinition {
  return {
    ...{ group, version, kind: plural, plural, singular: plural, shortNames: [], categories: [] },
    ...{ scope: 'Cluster', verbs: ['get'], hooks: {}, subresources: [], deleteReturnsObject: false },
    ...{ schema: { type: 'object', properties: {} }, validateName: () => [] },
  }
}

const kinds = [
  kind('', 'v1', 'pods'),
  kind('', 'v1', 'nodes'),
  kind('storage.orch.io', 'v1', 'capacities'),
  kind('storage.orch.io', 'v1beta1', 'capacities'),
  kind('storage.orch.io', 'v1alpha1', 'snapshots'),
]

function served(given: string): readonly string[] {
  const switches = runtimeConfigFlag().parse([given])
  return servedKinds(kinds, switches).map(({ version, plural }) => `${version}/${plural}`)
}

const stable = ['v1/pods', 'v1/nodes', 'v1/capacities']

void test('spec 9.1: stable and beta versions are on, alpha versions are off', () => {
  assert.deepEqual(served(''), [...stable, 'v1beta1/capacities'])
})

void test('spec 9.3: versions, single resources and whole stages are switched, and the narrower switch counts', () => {
  for (const [given, expected] of [
    ['storage.orch.io/v1beta1=false', stable],
    ['api/beta=false', stable],
    ['storage.orch.io/v1alpha1', [...stable, 'v1beta1/capacities', 'v1alpha1/snapshots']],
    ['storage.orch.io/v1alpha1/snapshots', [...stable, 'v1beta1/capacities', 'v1alpha1/snapshots']],
    ['api/all=true', [...stable, 'v1beta1/capacities', 'v1alpha1/snapshots']],
    ['api/all=false,v1=true', ['v1/pods', 'v1/nodes']],
    ['api/all=false,api/ga=true', stable],
    ['api/all=false,v1/nodes', ['v1/nodes']],
    ['v1/nodes=false', ['v1/pods', 'v1/capacities', 'v1beta1/capacities']],
    ['v1=false,v1/nodes=true', ['v1/nodes', 'v1/capacities', 'v1beta1/capacities']],
  ] as const) {
    assert.deepEqual(served(given), expected, given)
  }
})

void test('an unknown name in a switch is rejected with the nearest known one, or with all if none is near', () => {
  for (const [given, expected] of [
    ['storage.orch.io/v1beta2', /names storage\.orch\.io\/v1beta2, .*did you mean storage\.orch\.io\/v1/],
    ['v1/pod=false', /names v1\/pod, .*did you mean v1\/pods\?/],
    ['zzzzzzzzzzzzzzzzzzzz/v9', /does not have: there are v1, storage/],
  ] as const) {
    assert.throws(
      () => served(given),
      (cause) => cause instanceof StartError && cause.code === 'usage' && expected.test(cause.message),
    )
  }
})
