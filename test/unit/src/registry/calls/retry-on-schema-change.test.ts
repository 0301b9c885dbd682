/*
 * Goal: a request for a custom kind is answered by the current definition, also when the definition
 * changes while the request is evaluated.
 * Method: a catalog and definitions made by hand; each evaluation records its definition.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { retryOnSchemaChange } from '../../../../../src/registry/calls/retry-on-schema-change.ts'
import type { VerbRequest, VerbResponse } from '../../../../../src/registry/calls/verb.ts'
import { Catalog } from '../../../../../src/registry/kinds/catalog.ts'
import { DefinitionChangedError } from '../../../../../src/registry/kinds/definition-basis.ts'
import type { DefinitionStates } from '../../../../../src/registry/kinds/definition-basis.ts'
import type { ResourceDefinition, Verb } from '../../../../../src/registry/kinds/definition.ts'
import { configMapDefinition } from '../../../../../src/resources/config-map.ts'
import { configMapKey } from '../../../../../fixtures/store-kit.ts'

const answer: VerbResponse = { kind: 'document', code: 200, bytes: new Uint8Array() }

function kindOf(generation: number): ResourceDefinition {
  const basis = { key: configMapKey('crd'), uid: 'u', generation }
  return {
    ...configMapDefinition(namesOf('orch.io')),
    custom: { basis } as NonNullable<ResourceDefinition['custom']>,
  }
}

/** @param changesAt the call of `current` from which on the second generation is the current one */
async function evaluated(verb: Verb, changesAt: number): Promise<readonly number[]> {
  const [older, newer] = [kindOf(1), kindOf(2)]
  let calls = 0
  const states = {
    current: ({ key, generation }: { key: ReturnType<typeof configMapKey>; generation: number }) => {
      const current = ++calls >= changesAt ? 2 : 1
      if (generation !== current) throw new DefinitionChangedError(key)
    },
  } as unknown as DefinitionStates
  const used: number[] = []
  const parts = { store: { barrier: async () => undefined }, catalog: new Catalog([newer]), states }
  const request = { definition: older, context: { deadlineMs: 1 } } as VerbRequest
  const run = async (definition: ResourceDefinition): Promise<VerbResponse> => {
    used.push(definition.custom?.basis?.generation ?? 0)
    return answer
  }
  assert.equal(await retryOnSchemaChange(parts, verb, request, () => true, run), answer)
  return used
}

void test('a request that arrives with an old definition is evaluated with the current one only', async () => {
  for (const verb of ['get', 'list', 'create', 'watch'] as const)
    assert.deepEqual(await evaluated(verb, 1), [2], verb)
})

void test('a read is evaluated again when the definition changed in the meantime; a write checks it itself', async () => {
  assert.deepEqual(await evaluated('get', 2), [1, 2])
  assert.deepEqual(await evaluated('list', 2), [1, 2])
  assert.deepEqual(await evaluated('create', 2), [1])
  assert.deepEqual(await evaluated('get', 9), [1])
})

void test('a request whose definition changes during each evaluation is evaluated four times, then fails', async () => {
  let catalog = new Catalog([])
  const states = { current: () => undefined } as unknown as DefinitionStates
  const request = { definition: kindOf(1), context: { deadlineMs: 1 } } as VerbRequest
  const parts = {
    store: { barrier: async () => undefined },
    states,
    get catalog() {
      return catalog
    },
  }
  const used: number[] = []
  const run = async (definition: ResourceDefinition): Promise<VerbResponse> => {
    const generation = definition.custom?.basis?.generation ?? 0
    used.push(generation)
    catalog = new Catalog([kindOf(generation + 1)])
    throw new DefinitionChangedError(configMapKey('crd'))
  }
  await assert.rejects(
    retryOnSchemaChange(parts, 'create', request, () => true, run),
    { code: 'ServiceUnavailable', message: /configmaps is being changed/ },
  )
  assert.deepEqual(used, [1, 2, 3, 4])
})
