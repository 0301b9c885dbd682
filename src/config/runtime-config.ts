import { ConfigError } from './errors.ts'
import type { Flag } from './flag.ts'

/** Which parts of the API are enabled. A more specific key takes precedence. */
export type RuntimeConfig = {
  /** `api/all`, and `api/ga`, `api/beta`, `api/alpha` by the maturity of a version. */
  readonly stages: ReadonlyMap<'all' | 'ga' | 'beta' | 'alpha', boolean>
  readonly versions: readonly NamedSwitch<'group' | 'version'>[]
  readonly resources: readonly NamedSwitch<'group' | 'version' | 'resource'>[]
}

export type NamedSwitch<Part extends string> = {
  /** The original text, for messages. */
  readonly key: string
  readonly isOn: boolean
} & { readonly [part in Part]: string }

/** `--runtime-config=storage.k8s.io/v1beta1=false,api/alpha`. @source spec 9.3 */
export function runtimeConfigFlag(): Flag<RuntimeConfig> {
  return {
    placeholder: 'KEY[=true|false],…',
    help:
      'API versions that this member serves. Disabled resources stay in the store. Members may differ. Keys: ' +
      'api/all, api/ga, api/beta, api/alpha, v1, GROUP/VERSION, GROUP/VERSION/RESOURCE; the narrowest key wins. ' +
      'Unset: stable and beta versions.',
    fallback: { stages: new Map(), versions: [], resources: [] },
    isSwitch: false,
    parse,
  }
}

function parse(values: readonly string[]): RuntimeConfig {
  // The last entry for a key wins, as upstream.
  const given = new Map<string, boolean>()
  for (const entry of values.flatMap((value) => value.split(','))) {
    if (entry.trim() === '') continue
    const { key, isOn } = parseEntry(entry.trim())
    given.set(key, isOn)
  }
  const stages = new Map<'all' | 'ga' | 'beta' | 'alpha', boolean>()
  const versions: RuntimeConfig['versions'][number][] = []
  const resources: RuntimeConfig['resources'][number][] = []
  for (const [key, isOn] of given) {
    const stage = STAGES.find((one) => key === `api/${one}`)
    if (stage !== undefined) {
      stages.set(stage, isOn)
      continue
    }
    const { group, version, resource } = partsOf(key)
    if (resource === null) versions.push({ key, isOn, group, version })
    else resources.push({ key, isOn, group, version, resource })
  }
  if (stages.get('all') === false && given.size === 1) {
    throw new ConfigError('cannot be api/all=false alone, which serves nothing: enable some versions')
  }
  return { stages, versions, resources }
}

const STAGES = ['all', 'ga', 'beta', 'alpha'] as const

/** @throws ConfigError */
function parseEntry(entry: string): { readonly key: string; readonly isOn: boolean } {
  const equals = entry.indexOf('=')
  if (equals === -1) return { key: entry, isOn: true }
  const key = entry.slice(0, equals)
  switch (entry.slice(equals + 1).toLowerCase()) {
    case '':
    case 'true':
    case 't':
    case '1':
      return { key, isOn: true }
    case 'false':
    case 'f':
    case '0':
      return { key, isOn: false }
    default:
      throw new ConfigError(`must be ${key}=true or ${key}=false, not ${JSON.stringify(entry)}`)
  }
}

type KeyParts = { readonly group: string; readonly version: string; readonly resource: string | null }

/** `v1`, `api/v1`, `v1/pods`, `apps/v1`, `apps/v1/deployments`. @throws ConfigError */
function partsOf(key: string): KeyParts {
  const parts = key.split('/')
  const [first = '', second, third] = parts
  if (parts.length <= 3 && parts.every((part) => part !== '')) {
    if (first === 'api' && second !== undefined && isVersion(second)) {
      return { group: '', version: second, resource: third ?? null }
    }
    if (isVersion(first) && third === undefined) {
      return { group: '', version: first, resource: second ?? null }
    }
    if (second !== undefined && isVersion(second)) {
      return { group: first, version: second, resource: third ?? null }
    }
  }
  throw new ConfigError(
    `accepts api/all, api/ga, api/beta, api/alpha, v1, GROUP/VERSION and GROUP/VERSION/RESOURCE, not ${JSON.stringify(key)}`,
  )
}

function isVersion(text: string): boolean {
  return /^v[0-9]+((alpha|beta)[0-9]+)?$/.test(text)
}
