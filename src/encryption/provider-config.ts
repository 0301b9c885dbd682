import { isJsonList, isJsonObject, memberOf, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import { ConfigError } from '../config/errors.ts'
import { durationMs } from '../config/flag.ts'
import type { ProviderKind } from './envelope.ts'

/** One key of an entry in `providers`. An entry with several keys yields one of these for each. */
export type ProviderConfig =
  | { readonly kind: 'identity' }
  | { readonly kind: Exclude<ProviderKind, 'kms'>; readonly name: string; readonly secret: Uint8Array }
  | {
      readonly kind: 'kms'
      readonly name: string
      /** Path of the unix socket. */
      readonly socket: string
      readonly timeoutMs: number
    }

const kinds = ['identity', 'aesgcm', 'aescbc', 'secretbox', 'kms'] as const
const secretBytes = { aesgcm: [16, 24, 32], aescbc: [16, 24, 32], secretbox: [32] } as const
const keysMax = 100
const kmsTimeoutMs = { fallback: 3000, max: 30_000 } as const

/** Reads the providers of one rule. @throws ConfigError that names the place, and no secret */
export function readProviders(rule: JsonObject, at: string): readonly ProviderConfig[] {
  const list = memberOf(rule, 'providers')
  if (!isJsonList(list) || list.length === 0) {
    throw new ConfigError(`${at}.providers must be a list that is not empty: ${kinds.join(', ')}`)
  }
  const found = list.flatMap((entry, index) => readProvider(entry, `${at}.providers[${index}]`))
  if (found.length > keysMax) throw new ConfigError(`${at}.providers: at most ${keysMax} keys`)
  const names = new Set<string>()
  for (const one of found) {
    const name = one.kind === 'identity' ? 'identity' : `${one.kind} key ${JSON.stringify(one.name)}`
    if (names.has(name)) throw new ConfigError(`${at}.providers: ${name} is listed twice: remove one of them`)
    names.add(name)
  }
  return found
}

function readProvider(entry: Json, at: string): readonly ProviderConfig[] {
  if (!isJsonObject(entry)) throw new ConfigError(`${at} must be an object such as {identity: {}}`)
  const [given, another] = Object.keys(entry)
  const kind = kinds.find((one) => one === given)
  if (kind === undefined || another !== undefined) {
    throw new ConfigError(`${at} must have one member of ${kinds.join(', ')}`)
  }
  const value = memberOf(entry, kind)
  if (kind === 'identity') {
    if (isJsonObject(value) && Object.keys(value).length === 0) return [{ kind }]
    throw new ConfigError(`${at}.identity must be {}`)
  }
  if (!isJsonObject(value)) throw new ConfigError(`${at}.${kind} must be an object`)
  return kind === 'kms' ? [readKms(value, `${at}.kms`)] : readKeys(kind, value, `${at}.${kind}`)
}

function readKeys(kind: keyof typeof secretBytes, value: JsonObject, at: string): readonly ProviderConfig[] {
  checkMembers(value, ['keys'], at)
  const keys = memberOf(value, 'keys')
  if (!isJsonList(keys) || keys.length === 0)
    throw new ConfigError(`${at}.keys must be a list of name and secret`)
  return keys.map((key, index) => {
    const where = `${at}.keys[${index}]`
    if (!isJsonObject(key)) throw new ConfigError(`${where} must be an object with name and secret`)
    checkMembers(key, ['name', 'secret'], where)
    return { kind, name: readName(key, where), secret: readSecret(kind, key, where) }
  })
}

function readName(value: JsonObject, at: string): string {
  const name = textMember(value, 'name')
  if (/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(name)) return name
  throw new ConfigError(
    `${at}.name must have 1 to 63 letters, digits, dots, dashes and underscores, and begin and end with a letter or digit`,
  )
}

/** No error contains the secret. */
function readSecret(kind: keyof typeof secretBytes, key: JsonObject, at: string): Uint8Array {
  const text = textMember(key, 'secret')
  const wanted = secretBytes[kind]
  const remedy = `make one with: head -c 32 /dev/urandom | base64`
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
  if (text === '' || !isBase64) throw new ConfigError(`${at}.secret must be base64 of the key: ${remedy}`)
  const secret = Buffer.from(text, 'base64')
  if (wanted.some((bytes) => bytes === secret.byteLength)) return secret
  const sizes = wanted.length === 1 ? '32' : '16, 24 or 32'
  throw new ConfigError(`${at}.secret has ${secret.byteLength} bytes: ${kind} needs ${sizes}, ${remedy}`)
}

function readKms(value: JsonObject, at: string): ProviderConfig {
  checkMembers(value, ['apiVersion', 'name', 'endpoint', 'timeout'], at)
  const version = textMember(value, 'apiVersion')
  if (version !== 'v2') {
    throw new ConfigError(`${at}.apiVersion must be v2: version 1 of the KMS API is not supported`)
  }
  const endpoint = textMember(value, 'endpoint')
  const socket = /^unix:\/\/(\/.+)$/.exec(endpoint)?.[1]
  if (socket === undefined) throw new ConfigError(`${at}.endpoint must be unix:///PATH/TO/SOCKET`)
  return { kind: 'kms', name: readName(value, at), socket, timeoutMs: readTimeout(value, at) }
}

function readTimeout(value: JsonObject, at: string): number {
  const text = memberOf(value, 'timeout')
  if (text === undefined) return kmsTimeoutMs.fallback
  const ms = typeof text === 'string' ? durationMs(text) : null
  if (ms !== null && ms > 0 && ms <= kmsTimeoutMs.max) return ms
  throw new ConfigError(`${at}.timeout must be a duration of at most ${kmsTimeoutMs.max / 1000}s, such as 3s`)
}

export function checkMembers(value: JsonObject, known: readonly string[], at: string): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new ConfigError(
    `${at} has ${JSON.stringify(unknown.slice(0, 64))}: its members are ${known.join(', ')}`,
  )
}
