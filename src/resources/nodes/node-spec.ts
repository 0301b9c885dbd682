import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, invalid } from '../../api/errors/field-error.ts'
import { textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { flag, listOf, maybe, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { networkFamily } from '../common/network.ts'
import { checkTaints, taintSchema } from './taint.ts'

const configMapNodeConfigSourceSchema = struct(
  'core.v1.ConfigMapNodeConfigSource',
  'Reference to a ConfigMap with the configuration of a node.',
  {
    namespace: text(1, 'Namespace of the ConfigMap.', { required: true }),
    name: text(2, 'Name of the ConfigMap.', { required: true }),
    uid: text(3, 'UID of the ConfigMap, in the status.'),
    resourceVersion: text(4, 'Resource version of the ConfigMap, in the status.'),
    kubeletConfigKey: text(5, 'Key of the ConfigMap that holds the configuration.', { required: true }),
  },
)

export const nodeConfigSourceSchema = struct(
  'core.v1.NodeConfigSource',
  'Source of a dynamic node configuration; deprecated.',
  { configMap: maybe(2, configMapNodeConfigSourceSchema, 'A ConfigMap.') },
)

export const nodeSpecSchema = struct(
  'core.v1.NodeSpec',
  'Configuration of a node.',
  {
    podCIDR: text(1, 'Pod address range of the node; equal to the first entry of podCIDRs.'),
    podCIDRs: texts(7, 'Pod address ranges of the node, at most one of each IP family.', {
      patchStrategy: 'merge',
    }),
    providerID: text(3, 'ID of the machine at its provider.'),
    unschedulable: flag(4, 'Whether new Pods are kept off the node.'),
    taints: listOf(5, taintSchema, 'Taints of the node.'),
    configSource: maybe(6, nodeConfigSourceSchema, 'Deprecated; dropped.'),
    externalID: text(2, 'Deprecated.'),
  },
  {
    check: (spec, at, found) => {
      checkTaints(spec, at, found)
      checkRanges(spec, at, found)
    },
  },
)

/** Checks that each range is a CIDR, with at most one range of each family. */
function checkRanges(spec: JsonObject, at: Path | null, found: Findings): void {
  const ranges = textsMember(spec, 'podCIDRs')
  const families = ranges.map(networkFamily)
  const before = found.count
  for (const [index, family] of families.entries()) {
    if (family === null) found.add(invalid(fieldAt(at, 'podCIDRs', index), ranges, 'must be a valid CIDR'))
  }
  if (found.count > before) return
  if (new Set(families).size < ranges.length) {
    const words = 'may specify no more than one CIDR for each IP family'
    found.add(invalid(fieldAt(at, 'podCIDRs'), ranges, words))
  }
  const seen = new Set<string>()
  for (const [index, range] of ranges.entries()) {
    if (seen.has(range)) found.add(duplicate(fieldAt(at, 'podCIDRs', index), range))
    seen.add(range)
  }
}

/**
 * Keeps `podCIDR` equal to the first of `podCIDRs`, for clients that only use the former; if they
 * differ, `podCIDR` wins.
 */
export function withBothRanges(spec: JsonObject): JsonObject {
  const one = textMember(spec, 'podCIDR')
  const all = textsMember(spec, 'podCIDRs')
  const [first] = all
  if (one === '' && first === undefined) return spec
  if (one === '') return { ...spec, podCIDR: first ?? '' }
  return one === first ? spec : { ...spec, podCIDRs: [one] }
}
