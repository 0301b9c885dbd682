import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import type { Fixture, Got } from '../../registry/fixture.ts'

/** Returns the body of a minimal Pod. @param spec further members, or other values */
export function podBody(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', ...metadata },
    spec: { containers: [container()], ...spec },
  }
}

/** @param members further members, or other values for name and image */
export function container(members: JsonObject = {}): JsonObject {
  return { name: 'main', image: 'registry.test/app:1', ...members }
}

export function createPod(api: Fixture, spec: JsonObject = {}, metadata: JsonObject = {}): Promise<Got> {
  return api.create({ kind: 'Pod', body: podBody(spec, metadata) })
}

export function updateStatus(api: Fixture, status: Json): Promise<Got> {
  return api.patch({ kind: 'Pod', name: 'a', subresource: 'status', body: { status } })
}
