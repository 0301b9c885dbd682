import { keyPath } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { isJsonObject, memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { canonicalQuantity, parseQuantity } from '../../api/schema/quantity.ts'
import { seccompContainerKey, seccompPodKey } from './pod-seccomp.ts'

/** The Pod or template to inspect. */
type PodToInspect = {
  readonly spec: JsonObject
  readonly annotations: { readonly [key: string]: string }
  /** Prefix of paths: empty, or such as `template.`. */
  readonly at: string
  readonly names: Names
}

/**
 * Yields warnings for a valid Pod or template: fields that have no effect, are deprecated, or do
 * not mean what they seem to. One pass, a warning at a time.
 *
 * @source core `pkg/api/pod/warnings.go` of 1.24, whose words these are
 */
export function* podWarnings(pod: PodToInspect): Generator<string> {
  yield* oldNodeLabels(pod)
  yield* oldAnnotations(pod)
  yield* oldVolumes(pod)
  const { spec, at } = pod
  yield* doubled(objectsMember(spec, 'hostAliases'), 'ip', `${at}spec.hostAliases`)
  const secrets = objectsMember(spec, 'imagePullSecrets')
  yield* doubled(secrets, 'name', `${at}spec.imagePullSecrets`)
  for (const [index, secret] of secrets.entries()) {
    if (textMember(secret, 'name') === '')
      yield `${at}spec.imagePullSecrets[${index}].name: invalid empty name ""`
  }
  yield* partsOfBytes(objectMember(spec, 'overhead'), `${at}spec.overhead`)
  yield* oldSeccomp(pod, spec, seccompPodKey(pod.names))
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const [index, container] of objectsMember(spec, list).entries()) {
      const path = `${at}spec.${list}[${index}]`
      yield* oldSeccomp(pod, container, seccompContainerKey(pod.names, textMember(container, 'name')))
      const resources = objectMember(container, 'resources')
      for (const bound of ['limits', 'requests']) {
        yield* partsOfBytes(objectMember(resources, bound), `${path}.resources.${bound}`)
      }
      yield* doubled(objectsMember(container, 'env'), 'name', `${path}.env`)
    }
  }
}

function* oldNodeLabels({ spec, at, names }: PodToInspect): Generator<string> {
  const old = oldLabels(names)
  for (const key of Object.keys(objectMember(spec, 'nodeSelector'))) {
    const words = old.get(key)
    if (words !== undefined) yield `${keyPath(`${at}spec.nodeSelector`, key)}: ${words}`
  }
  const affinity = objectMember(objectMember(spec, 'affinity'), 'nodeAffinity')
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'
  const path = `${at}spec.affinity.nodeAffinity`
  const terms = objectsMember(objectMember(affinity, required), 'nodeSelectorTerms')
  for (const [index, term] of terms.entries()) {
    yield* oldKeys(term, `${path}.${required}.nodeSelectorTerms[${index}]`, old)
  }
  for (const [index, one] of objectsMember(affinity, preferred).entries()) {
    yield* oldKeys(objectMember(one, 'preference'), `${path}.${preferred}[${index}].preference`, old)
  }
  for (const [index, one] of objectsMember(spec, 'topologySpreadConstraints').entries()) {
    const key = textMember(one, 'topologyKey')
    const words = old.get(key)
    if (words !== undefined)
      yield `${at}spec.topologySpreadConstraints[${index}].topologyKey: ${key} is ${words}`
  }
}

function* oldKeys(term: JsonObject, path: string, old: ReadonlyMap<string, string>): Generator<string> {
  for (const [index, expression] of objectsMember(term, 'matchExpressions').entries()) {
    const key = textMember(expression, 'key')
    const words = old.get(key)
    if (words !== undefined) yield `${path}.matchExpressions[${index}].key: ${key} is ${words}`
  }
}

/** Deprecated node labels, with their warnings. */
function oldLabels(names: Names): ReadonlyMap<string, string> {
  const since = (release: string, label: string): string =>
    `deprecated since ${release}; use ${JSON.stringify(label)} instead`
  return new Map([
    [names.labelUnder('beta', 'arch'), since('v1.14', names.label('arch'))],
    [names.labelUnder('beta', 'os'), since('v1.14', names.label('os'))],
    ...['region', 'zone'].map((place): [string, string] => [
      names.labelUnder('failure-domain.beta', place),
      since('v1.17', names.labelUnder('topology', place)),
    ]),
    [names.labelUnder('beta', 'instance-type'), since('v1.17', names.labelUnder('node', 'instance-type'))],
  ])
}

function* oldAnnotations({ annotations, at, names }: PodToInspect): Generator<string> {
  for (const [key, release, field] of [
    [names.labelUnder('scheduler.alpha', 'critical-pod'), 'v1.16', 'priorityClassName'],
    [names.labelUnder('security.alpha', 'sysctls'), 'v1.11', 'sysctls'],
    [names.labelUnder('security.alpha', 'unsafe-sysctls'), 'v1.11', 'sysctls'],
  ] as const) {
    if (!Object.hasOwn(annotations, key)) continue
    yield `${keyPath(`${at}metadata.annotations`, key)}: non-functional in ${release}+; use the "${field}" field instead`
  }
}

const IN_126 = 'deprecated in v1.22, support removal is planned in v1.26'

/** In upstream's message one source has another name than its member. */
const OLD_VOLUMES: readonly (readonly [source: string, words: string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo: deprecated in v1.11'],
  ['scaleIO', 'scaleIO: deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', `flocker: ${IN_126}`],
  ['storageos', `storageOS: ${IN_126}`],
  ['quobyte', `quobyte: ${IN_126}`],
]

function* oldVolumes({ spec, at }: PodToInspect): Generator<string> {
  for (const [index, volume] of objectsMember(spec, 'volumes').entries()) {
    for (const [source, words] of OLD_VOLUMES) {
      if (isJsonObject(memberOf(volume, source))) yield `${at}spec.volumes[${index}].${words}`
    }
  }
}

function* doubled(items: readonly JsonObject[], member: string, path: string): Generator<string> {
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    const given = textMember(item, member)
    if (seen.has(given)) yield `${path}[${index}].${member}: duplicate ${member} ${JSON.stringify(given)}`
    seen.add(given)
  }
}

/** Yields a warning for each amount of bytes that is not an integer. */
function* partsOfBytes(amounts: JsonObject, path: string): Generator<string> {
  for (const resource of ['memory', 'ephemeral-storage']) {
    const text = textMember(amounts, resource)
    const amount = parseQuantity(text)
    if (amount === null || amount.nanos % 1_000_000_000n === 0n) continue
    const words = `fractional byte value ${JSON.stringify(canonicalQuantity(text) ?? text)} is invalid`
    yield `${keyPath(path, resource)}: ${words}, must be an integer`
  }
}

/**
 * The annotation is deprecated. No warning when the field is set too, as it is in every new Pod
 * with the annotation.
 */
function* oldSeccomp({ annotations, at }: PodToInspect, of: JsonObject, key: string): Generator<string> {
  const isSet = isJsonObject(memberOf(objectMember(of, 'securityContext'), 'seccompProfile'))
  if (isSet || !Object.hasOwn(annotations, key)) return
  const words = 'deprecated since v1.19, non-functional in v1.25+; use the "seccompProfile" field instead'
  yield `${keyPath(`${at}metadata.annotations`, key)}: ${words}`
}
