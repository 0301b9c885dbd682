import type { JsonObject } from '../../../../../src/api/json.ts'
import { encode } from '../../../../../src/registry/kinds/encode.ts'
import type { Operation } from '../../../../../src/store/command.ts'
import { keyOf, partsOf, prefixOf } from '../../../../../src/store/key.ts'
import type { Key } from '../../../../../src/store/key.ts'
import type { Fixture } from '../../registry/fixture.ts'

/** A port as stored. */
export const storedPort = { port: 80, protocol: 'TCP', targetPort: 80 }

/** Returns the names of all claims, sorted. */
export function claimsOf(api: Fixture): readonly string[] {
  const prefix = prefixOf({ group: 'internal', plural: 'serviceclaims', namespace: null })
  const { objects } = api.store.view().list(prefix, { after: null, limit: null })
  return objects.map(({ key }) => partsOf(key).name).sort()
}

/** Returns the key of a claim. @param set such as `ipv4` */
export function keyOfClaim(set: string, value: string): Key {
  return keyOf({ group: 'internal', plural: 'serviceclaims', namespace: set, name: value })
}

export function keyOfService(name: string): Key {
  return keyOf({ group: '', plural: 'services', namespace: 'default', name })
}

export async function writeRaw(api: Fixture, operations: readonly Operation[]): Promise<void> {
  await api.store.write({ kind: 'write', operations }, api.clock.monotonicMs() + 1000)
}

/** Stores a Service as a version without claims stored it. */
export async function storeOlder(api: Fixture, name: string, spec: JsonObject): Promise<void> {
  const kind = 'Service'
  const body = { metadata: { name }, spec: { ports: [{ port: 80 }], clusterIP: 'None' } }
  const { metadata } = (await api.create({ kind, body })).object
  const older = { type: 'ClusterIP', sessionAffinity: 'None', ports: [storedPort], ...spec }
  const object = encode({
    ...{ apiVersion: 'v1', kind, metadata: { ...metadata, resourceVersion: '' }, spec: older },
  })
  await writeRaw(api, [{ kind: 'put', key: keyOfService(name), conditions: [], object }])
}
