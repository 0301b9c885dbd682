import { nearest } from '../config/nearest.ts'
import type { RuntimeConfig } from '../config/runtime-config.ts'
import { apiVersionOf } from '../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { StartError } from '../config/start-error.ts'

/**
 * Returns the definitions that this member serves, of all that it knows.
 *
 * @throws StartError `usage` if a switch names an unknown version or resource
 * @source spec 9.1, 9.3
 */
export function servedKinds(
  kinds: readonly ResourceDefinition[],
  switches: RuntimeConfig,
): readonly ResourceDefinition[] {
  checkNamed(kinds, switches)
  return kinds.filter((kind) => isServed(kind, switches))
}

function isServed(kind: ResourceDefinition, { stages, versions, resources }: RuntimeConfig): boolean {
  const stage = stageOf(kind.version)
  const ofVersion = versions.find((one) => one.group === kind.group && one.version === kind.version)
  const ofResource = resources.find(
    (one) => one.group === kind.group && one.version === kind.version && one.resource === kind.plural,
  )
  return ofResource?.isOn ?? ofVersion?.isOn ?? stages.get(stage) ?? stages.get('all') ?? stage !== 'alpha'
}

function stageOf(version: string): 'ga' | 'beta' | 'alpha' {
  if (version.includes('alpha')) return 'alpha'
  return version.includes('beta') ? 'beta' : 'ga'
}

function checkNamed(kinds: readonly ResourceDefinition[], { versions, resources }: RuntimeConfig): void {
  const known = {
    versions: [...new Set(kinds.map(apiVersionOf))],
    resources: kinds.map((kind) => `${apiVersionOf(kind)}/${kind.plural}`),
  }
  for (const { key, group, version } of versions) {
    mustKnow(key, group === '' ? version : `${group}/${version}`, known.versions)
  }
  for (const { key, group, version, resource } of resources) {
    mustKnow(key, `${group === '' ? version : `${group}/${version}`}/${resource}`, known.resources)
  }
}

function mustKnow(key: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return
  const close = nearest(name, known)
  const hint = close === null ? `there are ${known.join(', ')}` : `did you mean ${close}?`
  throw new StartError('usage', `--runtime-config names ${key}, which this server does not have: ${hint}`)
}
