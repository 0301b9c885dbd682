import assert from 'node:assert/strict'
import type { JsonObject } from '../../src/api/json.ts'
import { STOOD_FOR } from './full-object.ts'
import type { SpecServer } from './spec-server.ts'

const PODS = '/api/v1/namespaces/default/pods'

/** Makes the Pod that drawn objects mean which stand for something done to one. @returns its path */
export async function makeStoodFor(api: SpecServer): Promise<string> {
  const body: JsonObject = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: STOOD_FOR } },
    spec: { containers: [{ name: 'main', image: 'registry.test/app:1' }] },
  }
  const { status, text } = await api.ask('POST', PODS, { body })
  assert.equal(status, 201, text)
  return `${PODS}/${STOOD_FOR}`
}
