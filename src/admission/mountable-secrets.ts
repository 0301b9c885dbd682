import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

/** Returns whether the Pods of an account may use only the Secrets that the account lists. */
export function limitsSecrets(account: AnyObject, names: Names): boolean {
  const value = account.metadata.annotations?.[names.label('enforce-mountable-secrets')]
  return value !== undefined && ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)
}

const LISTS = [
  ['initContainers', 'init container'],
  ['containers', 'container'],
] as const

/**
 * Returns why a Pod may not use the Secrets that it names in volumes of the types `secret` and
 * `projected`, for environment variables and for image pulls; null: its account lists all of them.
 *
 * @source upstream `plugin/pkg/admission/serviceaccount`, limitSecretReferences; beyond it, Secrets
 * in projected volumes
 */
export function secretViolation(pod: AnyObject, account: AnyObject): string | null {
  const spec = objectMember(pod, 'spec')
  const { isListed, why } = limitOf(account)
  for (const volume of objectsMember(spec, 'volumes')) {
    const other = secretsOfVolume(volume).find((name) => !isListed(name))
    if (other !== undefined) return `volume with ${why(other)}`
  }
  for (const [list, words] of LISTS) {
    const found = violationOfContainers(objectsMember(spec, list), words, account)
    if (found !== null) return found
  }
  const pulls = namesIn(account, 'imagePullSecrets')
  for (const [at, pull] of objectsMember(spec, 'imagePullSecrets').entries()) {
    const name = textMember(pull, 'name')
    if (pulls.has(name)) continue
    const end = `because service account ${nameOf(account)} does not reference that imagePullSecret`
    return `imagePullSecrets[${at}].name="${name}" is not allowed ${end}`
  }
  return null
}

/** Returns the same for the ephemeral containers of a Pod that exists. */
export function ephemeralSecretViolation(pod: AnyObject, account: AnyObject): string | null {
  const containers = objectsMember(objectMember(pod, 'spec'), 'ephemeralContainers')
  return violationOfContainers(containers, 'ephemeral container', account)
}

function violationOfContainers(
  containers: readonly JsonObject[],
  words: string,
  account: AnyObject,
): string | null {
  const { isListed, why } = limitOf(account)
  for (const container of containers) {
    const name = textMember(container, 'name')
    for (const variable of objectsMember(container, 'env')) {
      const secret = nameOfMember(objectMember(variable, 'valueFrom'), 'secretKeyRef')
      if (!isListed(secret))
        return `${words} ${name} with envVar ${textMember(variable, 'name')} referencing ${why(secret)}`
    }
    for (const source of objectsMember(container, 'envFrom')) {
      const secret = nameOfMember(source, 'secretRef')
      if (!isListed(secret)) return `${words} ${name} with envFrom referencing ${why(secret)}`
    }
  }
  return null
}

function limitOf(account: AnyObject): {
  /** An empty name refers to no Secret, so it counts as listed. */
  readonly isListed: (name: string) => boolean
  readonly why: (name: string) => string
} {
  const listed = namesIn(account, 'secrets')
  const end = `because service account ${nameOf(account)} does not reference that secret`
  return {
    isListed: (name) => name === '' || listed.has(name),
    why: (name) => `secret.secretName="${name}" is not allowed ${end}`,
  }
}

function secretsOfVolume(volume: JsonObject): readonly string[] {
  const sources = objectsMember(objectMember(volume, 'projected'), 'sources')
  return [
    textMember(objectMember(volume, 'secret'), 'secretName'),
    ...sources.map((source) => nameOfMember(source, 'secret')),
  ]
}

function namesIn(account: AnyObject, list: string): ReadonlySet<string> {
  return new Set(objectsMember(account, list).map((one) => textMember(one, 'name')))
}

function nameOf({ metadata }: AnyObject): string {
  return metadata.name ?? ''
}

function nameOfMember(object: JsonObject, member: string): string {
  return textMember(objectMember(object, member), 'name')
}
