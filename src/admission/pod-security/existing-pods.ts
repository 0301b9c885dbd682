import { objectMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import type { ReadSet } from '../../registry/shared/read-set.ts'
import { prefixOf } from '../../store/key.ts'
import type { PodSecurityConfiguration } from './configuration.ts'
import { violationsOf } from './evaluate.ts'
import { spellPolicy } from './policy.ts'
import type { Policy } from './policy.ts'

/**
 * Maximum number of Pods that one request checks. In a larger namespace the others are not checked.
 */
const PODS_MAX = 1000
/**
 * Maximum size of these Pods, which are parsed in one turn. The Pod that exceeds it is still
 * checked.
 */
const BYTES_MAX = 8 * 1024 * 1024

/**
 * Returns warnings about Pods that a new level would refuse: each set of reasons once, with a Pod
 * and the number of others.
 */
export function warningsOfExistingPods(
  of: {
    readonly reads: ReadSet
    readonly names: Names
    readonly exemptions: PodSecurityConfiguration['exemptions']
  },
  namespace: string,
  policy: Policy,
): readonly string[] {
  const { reads, names, exemptions } = of
  const prefix = prefixOf({ group: '', plural: 'pods', namespace })
  const { objects, count } = reads.sampleOther(prefix, PODS_MAX)
  const pods = new Map<string, string[]>()
  let [checked, bytes] = [0, 0]
  for (const stored of objects) {
    if (bytes > BYTES_MAX) break
    checked++
    bytes += stored.byteLength
    const pod = parseStored(stored)
    const spec = objectMember(pod, 'spec')
    if (exemptions.runtimeClasses.has(textMember(spec, 'runtimeClassName'))) continue
    const { name = '', annotations = {} } = pod.metadata
    const reasons = violationsOf(policy, { annotations, spec, names }).map(({ reason }) => reason)
    if (reasons.length === 0) continue
    const key = reasons.join(', ')
    const same = pods.get(key)
    if (same === undefined) pods.set(key, [name])
    else same.push(name)
  }
  const warnings: string[] = []
  if (count > checked) warnings.push(`large namespace: only checking the first ${checked} of ${count} pods`)
  if (pods.size === 0) return warnings
  const level = JSON.stringify(spellPolicy(policy))
  warnings.push(
    `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${level}`,
  )
  for (const reasons of [...pods.keys()].sort()) {
    const [first = '', ...others] = pods.get(reasons) ?? []
    const more = others.length === 1 ? ' (and 1 other pod)' : ` (and ${others.length} other pods)`
    warnings.push(`${first}${others.length === 0 ? '' : more}: ${reasons}`)
  }
  return warnings
}
