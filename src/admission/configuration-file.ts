import { dirname, resolve } from 'node:path'
import { ApiError } from '../api/errors/api-error.ts'
import { parseYamlObject } from '../api/codec/yaml.ts'
import { isJsonList, isJsonObject, memberOf, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { ConfigError } from '../config/errors.ts'
import { readServerCredentials } from '../pki/client-config.ts'
import { readTextFile } from '../pki/files.ts'
import type { CredentialsFor } from '../outward/webhook-clients.ts'

/** The configuration of one plugin, and the file that it is in. */
export type PluginConfiguration = { readonly value: JsonObject; readonly path: string }

/** By the name of the plugin. */
export type AdmissionConfiguration = ReadonlyMap<string, PluginConfiguration>

/**
 * Reads the file of `--admission-control-config-file`: an `AdmissionConfiguration` whose plugins
 * have their configuration inside, or in another file.
 *
 * @param plugins the names of all plugins: others are refused
 * @throws ConfigError, PkiError: one line that names the file and the remedy
 * @source spec 5.8; apiserver `pkg/admission/config.go`
 */
export function readAdmissionConfiguration(
  path: string,
  names: Names,
  plugins: readonly string[],
): AdmissionConfiguration {
  const value = parsed(path)
  checkHead(value, 'AdmissionConfiguration', `${names.group('apiserver.config')}/v1`, path)
  const list = memberOf(value, 'plugins') ?? []
  if (!isJsonList(list)) throw malformed(path, 'plugins must be a list')
  const found = new Map<string, PluginConfiguration>()
  for (const [at, entry] of list.entries()) {
    const where = `plugins[${at}]`
    if (!isJsonObject(entry)) throw malformed(path, `${where} must be an object with name and configuration`)
    checkMembers(entry, ['name', 'path', 'configuration'], where, path)
    const name = textMember(entry, 'name')
    if (!plugins.includes(name)) {
      throw malformed(path, `${where}.name is ${JSON.stringify(name)}: the plugins are ${plugins.join(', ')}`)
    }
    if (found.has(name)) throw malformed(path, `${where}.name: ${name} is listed twice`)
    found.set(name, configurationIn(entry, where, path))
  }
  return found
}

function configurationIn(entry: JsonObject, where: string, path: string): PluginConfiguration {
  const embedded = memberOf(entry, 'configuration') ?? null
  const otherPath = textMember(entry, 'path')
  if (embedded !== null) {
    if (otherPath !== '') throw malformed(path, `${where} has both path and configuration: give one of them`)
    if (!isJsonObject(embedded)) throw malformed(path, `${where}.configuration must be an object`)
    return { value: embedded, path }
  }
  if (otherPath === '') throw malformed(path, `${where} needs a configuration, or the path of a file with it`)
  const file = resolve(dirname(path), otherPath)
  return { value: parsed(file), path: file }
}

/**
 * Returns the credentials for webhooks from the configuration of the plugins
 * `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`.
 *
 * @throws ConfigError, PkiError
 */
export function webhookCredentials(configuration: AdmissionConfiguration, names: Names): CredentialsFor {
  const mutating = credentialsIn(configuration.get('MutatingAdmissionWebhook'), names)
  const validating = credentialsIn(configuration.get('ValidatingAdmissionWebhook'), names)
  return (purpose, server) => {
    // As upstream, conversion webhooks cannot be given credentials.
    if (purpose === 'conversion') return null
    return purpose === 'mutating' ? mutating(server) : validating(server)
  }
}

function credentialsIn(
  plugin: PluginConfiguration | undefined,
  names: Names,
): ReturnType<typeof readServerCredentials> {
  return plugin === undefined ? () => null : readServerCredentials(kubeconfigOf(plugin, names))
}

/** Returns the kubeconfigs that hold the credentials for webhooks. @throws ConfigError */
export function webhookKubeconfigs(configuration: AdmissionConfiguration, names: Names): readonly string[] {
  const plugins = ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'] as const
  const paths = plugins.flatMap((name) => {
    const plugin = configuration.get(name)
    return plugin === undefined ? [] : [kubeconfigOf(plugin, names)]
  })
  return [...new Set(paths)]
}

function kubeconfigOf({ value, path }: PluginConfiguration, names: Names): string {
  checkHead(value, 'WebhookAdmissionConfiguration', `${names.group('apiserver.config')}/v1`, path)
  checkMembers(value, ['apiVersion', 'kind', 'kubeConfigFile'], 'WebhookAdmissionConfiguration', path)
  const file = textMember(value, 'kubeConfigFile')
  if (file === '') throw malformed(path, 'WebhookAdmissionConfiguration needs a kubeConfigFile')
  return resolve(dirname(path), file)
}

function parsed(path: string): JsonObject {
  const text = readTextFile(path)
  try {
    const { value, doubled } = parseYamlObject(text)
    if (doubled[0] !== undefined) throw malformed(path, `${doubled[0]}: set it once`)
    return value
  } catch (cause) {
    if (cause instanceof ApiError) throw malformed(path, cause.message, cause)
    throw cause
  }
}

function checkHead(value: JsonObject, kind: string, apiVersion: string, path: string): void {
  if (textMember(value, 'kind') === kind && textMember(value, 'apiVersion') === apiVersion) return
  throw malformed(path, `kind and apiVersion must be ${kind} and ${apiVersion}`)
}

function checkMembers(value: JsonObject, known: readonly string[], where: string, path: string): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw malformed(path, `${where} has ${JSON.stringify(unknown)}: its members are ${known.join(', ')}`)
}

function malformed(path: string, why: string, cause?: unknown): ConfigError {
  return new ConfigError(`${path}: ${why}`, { cause })
}
