import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textsMember } from '../../api/json.ts'
import { checkDns1123Label, checkQualifiedName } from '../../api/metadata/name-rules.ts'
import { int32, listOf, maybe, part, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { nodeSelectorSchema, nodeSelectorTermSchema } from '../nodes/node-selector.ts'
import { selectorSchema } from '../common/selector.ts'

/** Where a Pod would like to be, or must be, by nodes and by the pods that are there already. */

const weightRules = { required: true, minimum: 1, maximum: 100 } as const
const weightWords = 'How much it counts, from 1 to 100; the node with the highest sum is chosen.'

const preferredSchedulingTermSchema = struct(
  'core.v1.PreferredSchedulingTerm',
  'Nodes that are liked better.',
  {
    weight: int32(1, weightWords, weightRules),
    preference: part(2, nodeSelectorTermSchema, 'Which nodes; all of its rules must hold.', {
      required: true,
      always: true,
    }),
  },
)

const nodeAffinitySchema = struct('core.v1.NodeAffinity', 'Which nodes a Pod likes or needs.', {
  requiredDuringSchedulingIgnoredDuringExecution: maybe(
    1,
    nodeSelectorSchema,
    'Without such a node it is not placed; it stays when its node changes.',
  ),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    2,
    preferredSchedulingTermSchema,
    'Such nodes are liked better, others do as well.',
  ),
})

const podAffinityTermSchema = struct(
  'core.v1.PodAffinityTerm',
  'Other pods, and what being at the same place as them means.',
  {
    labelSelector: maybe(1, selectorSchema, 'Which pods, by label.'),
    namespaces: texts(2, 'In which namespaces besides those selected; none of both is that of the Pod.'),
    topologyKey: text(3, 'Nodes with the same value of this label are one place.', {
      required: true,
      rule: checkQualifiedName,
    }),
    namespaceSelector: maybe(
      4,
      selectorSchema,
      'In which namespaces, by label; an empty one is all of them.',
    ),
  },
  { check: checkNamespaces },
)

const weightedPodAffinityTermSchema = struct(
  'core.v1.WeightedPodAffinityTerm',
  'Other pods, and how much it counts to be near them, or away from them.',
  {
    weight: int32(1, weightWords, weightRules),
    podAffinityTerm: part(2, podAffinityTermSchema, 'Which pods.', { required: true, always: true }),
  },
)

const terms = {
  requiredDuringSchedulingIgnoredDuringExecution: listOf(
    1,
    podAffinityTermSchema,
    'It is only placed where all of them hold; it stays when that changes.',
  ),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    2,
    weightedPodAffinityTermSchema,
    'Places where they hold are liked better, others do as well.',
  ),
}

const podAffinitySchema = struct('core.v1.PodAffinity', 'Which pods a Pod likes or needs to be near.', terms)

const podAntiAffinitySchema = struct(
  'core.v1.PodAntiAffinity',
  'Which pods a Pod likes or needs to be away from.',
  terms,
)

export const affinitySchema = struct('core.v1.Affinity', 'Where a Pod would like to be, or must be.', {
  nodeAffinity: maybe(1, nodeAffinitySchema, 'By nodes.'),
  podAffinity: maybe(2, podAffinitySchema, 'Near other pods.'),
  podAntiAffinity: maybe(3, podAntiAffinitySchema, 'Away from other pods.'),
})

function checkNamespaces(term: JsonObject, at: Path | null, found: Findings): void {
  textsMember(term, 'namespaces').forEach((namespace, index) => {
    for (const words of checkDns1123Label(namespace)) {
      found.add(invalid(fieldAt(at, 'namespaces', index), namespace, words))
    }
  })
}
