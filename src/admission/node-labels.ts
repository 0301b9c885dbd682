import type { Names } from '../api/metadata/names.ts'

type Labels = Readonly<Record<string, string>>

/**
 * Returns the changed labels, sorted, that a node may not set or change on its own Node: all under
 * `node-restriction`, and those of the domain of the API, except for labels under `kubelet` and
 * `node` and for some well-known ones.
 *
 * @source upstream `plugin/pkg/admission/noderestriction`, getModifiedLabels; KEP 279
 */
export function forbiddenNodeLabels(labels: Labels, before: Labels, names: Names): readonly string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(before)])
  return [...keys].filter((key) => labels[key] !== before[key] && !isAllowed(key, names)).sort()
}

function isAllowed(key: string, names: Names): boolean {
  const prefix = key.slice(0, Math.max(0, key.indexOf('/')))
  const [restricted] = names.labelUnder('node-restriction', 'x').split('/')
  if (isUnder(prefix, restricted ?? '')) return false
  const [domain] = names.label('x').split('/')
  if (!isUnder(prefix, domain ?? '') && !isUnder(prefix, names.domain)) return true
  if (['kubelet', 'node'].some((one) => isUnder(prefix, names.labelUnder(one, 'x').split('/')[0] ?? '')))
    return true
  const { label, labelUnder } = names
  const allowed = [
    ...['hostname', 'os', 'arch'].map((one) => label(one)),
    ...['os', 'arch', 'instance-type'].map((one) => labelUnder('beta', one)),
    ...['zone', 'region'].map((one) => labelUnder('topology', one)),
    ...['zone', 'region'].map((one) => labelUnder('failure-domain.beta', one)),
    labelUnder('node', 'instance-type'),
  ]
  return allowed.includes(key)
}

function isUnder(prefix: string, domain: string): boolean {
  return prefix === domain || prefix.endsWith(`.${domain}`)
}
