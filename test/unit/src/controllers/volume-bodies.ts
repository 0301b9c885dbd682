import type { JsonObject } from '../../../../src/api/json.ts'

export function claimBody(name: string): JsonObject {
  const resources = { requests: { storage: '1Gi' } }
  return { metadata: { name }, spec: { accessModes: ['ReadWriteOnce'], resources } }
}

export function volumeBody(name: string): JsonObject {
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } }
  return { metadata: { name }, spec }
}
