import { isJsonObject, memberOf, objectMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { AnyObject, ResourceDefinition } from '../../registry/kinds/definition.ts'

/** Where workloads have the template of their Pods, by group and plural. */
const TEMPLATES: ReadonlyMap<string, readonly string[]> = new Map([
  ['/podtemplates', ['template']],
  ['/replicationcontrollers', ['spec', 'template']],
  ['apps/replicasets', ['spec', 'template']],
  ['apps/deployments', ['spec', 'template']],
  ['apps/statefulsets', ['spec', 'template']],
  ['apps/daemonsets', ['spec', 'template']],
  ['batch/jobs', ['spec', 'template']],
  ['batch/cronjobs', ['spec', 'jobTemplate', 'spec', 'template']],
])

/** @returns null: the object has no template */
export function templateOf(
  { group, plural }: ResourceDefinition,
  object: AnyObject,
): { readonly metadata: JsonObject; readonly spec: JsonObject } | null {
  const path = TEMPLATES.get(`${group}/${plural}`)
  if (path === undefined) return null
  let found: JsonObject = object
  for (const name of path) {
    const next = memberOf(found, name)
    if (!isJsonObject(next)) return null
    found = next
  }
  return { metadata: objectMember(found, 'metadata'), spec: objectMember(found, 'spec') }
}
