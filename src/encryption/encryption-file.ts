import { parseYamlObject } from '../api/codec/yaml.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { isJsonList, isJsonObject, memberOf, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { ConfigError } from '../config/errors.ts'
import { isStored, placeOf } from '../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { prefixOf } from '../store/key.ts'
import { checkMembers, readProviders } from './provider-config.ts'
import type { ProviderConfig } from './provider-config.ts'

/** The configuration of one resource in the file. */
export type ResourceRule = {
  readonly resource: string
  /** See `ResourceKeys`. */
  readonly place: string
  readonly providers: readonly ProviderConfig[]
}

type Known = { readonly names: Names; readonly builtIn: readonly ResourceDefinition[] }

const resourcesMax = 1000

/**
 * Reads an `EncryptionConfiguration` in YAML or JSON. Unknown content is refused: a part that is
 * ignored would leave Secrets unencrypted.
 *
 * @param known with all kinds of the server as `builtIn`
 * @throws ConfigError one line with the place and the remedy, and without a secret
 * @source apiserver `pkg/server/options/encryptionconfig/config.go`
 */
export function parseEncryptionFile(content: string, known: Known): readonly ResourceRule[] {
  const value = parsed(content)
  const apiVersion = `${known.names.group('apiserver.config')}/v1`
  const kind = 'EncryptionConfiguration'
  if (textMember(value, 'kind') !== kind || textMember(value, 'apiVersion') !== apiVersion)
    throw new ConfigError(`kind and apiVersion must be ${kind} and ${apiVersion}`)
  checkMembers(value, ['kind', 'apiVersion', 'resources'], kind)
  const list = memberOf(value, 'resources')
  if (!isJsonList(list) || list.length === 0)
    throw new ConfigError('resources must be a list of resources and providers')
  const rules = list.flatMap((entry, index) => readRule(entry, `resources[${index}]`, known))
  if (rules.length > resourcesMax) throw new ConfigError(`resources: at most ${resourcesMax}`)
  const places = new Map<string, string>()
  for (const { resource, place } of rules) {
    const earlier = places.get(place)
    if (earlier !== undefined) {
      const same = earlier === resource ? '' : `, whose objects are those of ${earlier},`
      throw new ConfigError(`resources: ${resource}${same} is listed twice: remove one of them`)
    }
    places.set(place, resource)
  }
  return rules
}

function parsed(content: string): JsonObject {
  try {
    const { value, doubled } = parseYamlObject(content)
    if (doubled[0] !== undefined) throw new ConfigError(`${doubled[0]}: set it once`)
    return value
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause
    throw new ConfigError(cause.message, { cause })
  }
}

function readRule(entry: Json, at: string, known: Known): readonly ResourceRule[] {
  if (!isJsonObject(entry)) throw new ConfigError(`${at} must be an object with resources and providers`)
  checkMembers(entry, ['resources', 'providers'], at)
  const resources = memberOf(entry, 'resources')
  if (!isJsonList(resources) || resources.length === 0)
    throw new ConfigError(`${at}.resources must be a list such as [secrets, widgets.example.com]`)
  const providers = readProviders(entry, at)
  return resources.map((resource, index) => {
    const where = `${at}.resources[${index}]`
    if (typeof resource !== 'string') throw new ConfigError(`${where} must be the name of a resource`)
    return { resource, place: placeOfResource(resource, where, known), providers }
  })
}

/** @throws ConfigError there is no such resource */
function placeOfResource(resource: string, at: string, { names, builtIn }: Known): string {
  const dot = resource.indexOf('.')
  const plural = dot < 0 ? resource : resource.slice(0, dot)
  const group = dot < 0 ? '' : resource.slice(dot + 1)
  const shown = JSON.stringify(resource.slice(0, 256))
  if (resource.includes('*')) throw new ConfigError(`${at} is ${shown}: list each resource by its name`)
  if (!/^[a-z0-9-]+(\.[a-z0-9.-]+)?$/.test(resource))
    throw new ConfigError(
      `${at} is ${shown}: it must be a plural and its group, such as secrets or widgets.example.com`,
    )
  if (group === names.group('cluster') && plural === 'members')
    throw new ConfigError(`${at}: ${resource} cannot be encrypted: the replicated state machine writes them`)
  const found = builtIn.find((kind) => kind.plural === plural && kind.group === group && isStored(kind))
  if (found !== undefined) return prefixOf({ namespace: null, ...placeOf(found) })
  if (!builtIn.some((kind) => kind.group === group)) return prefixOf({ group, plural, namespace: null })
  const inGroup = group === '' ? 'no group' : `the group ${group}`
  throw new ConfigError(
    `${at} is ${shown}: ${inGroup} has no such resource; kubectl api-resources lists them`,
  )
}
