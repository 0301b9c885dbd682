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
  'Names a ConfigMap with settings of a node.',
  {
    namespace: text(1, 'Namespace of the ConfigMap.', { required: true }),
    name: text(2, 'Name of the ConfigMap.', { required: true }),
    uid: text(3, 'Identity of the ConfigMap, as status tells it.'),
    resourceVersion: text(4, 'Version of the ConfigMap, as status tells it.'),
    kubeletConfigKey: text(5, 'The key under which the settings lie.', { required: true }),
  },
)

export const nodeConfigSourceSchema = struct(
  'core.v1.NodeConfigSource',
  'Where settings of a node came from, when they could come from an object.',
  { configMap: maybe(2, configMapNodeConfigSourceSchema, 'A ConfigMap.') },
)

export const nodeSpecSchema = struct(
  'core.v1.NodeSpec',
  'What the node is for the cluster.',
  {
    podCIDR: text(1, 'Addresses for pods of this node; the first of podCIDRs.'),
    podCIDRs: texts(7, 'Addresses for pods of this node: one range, or one of each family.', {
      patchStrategy: 'merge',
    }),
    providerID: text(3, 'What the provider of the machine calls it.'),
    unschedulable: flag(4, 'No new pods are placed there.'),
    taints: listOf(5, taintSchema, 'What keeps pods away from the node.'),
    configSource: maybe(6, nodeConfigSourceSchema, 'No longer used; not kept.'),
    externalID: text(2, 'No longer used.'),
  },
  {
    check: (spec, at, found) => {
      checkTaints(spec, at, found)
      checkRanges(spec, at, found)
    },
  },
)

/** Each is a range, at most one of each family. */
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

/** The first range stands in a member of its own for those who know only one; where they differ, that one is meant. */
export function withBothRanges(spec: JsonObject): JsonObject {
  const one = textMember(spec, 'podCIDR')
  const all = textsMember(spec, 'podCIDRs')
  const [first] = all
  if (one === '' && first === undefined) return spec
  if (one === '') return { ...spec, podCIDR: first ?? '' }
  return one === first ? spec : { ...spec, podCIDRs: [one] }
}
