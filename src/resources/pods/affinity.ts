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

/** Scheduling preferences and requirements, by nodes and by existing pods. */

const weightRules = { required: true, minimum: 1, maximum: 100 } as const
const weightWords = 'Weight from 1 to 100; the node with the highest sum of weights is chosen.'

const preferredSchedulingTermSchema = struct(
  'core.v1.PreferredSchedulingTerm',
  'A weighted node preference.',
  {
    weight: int32(1, weightWords, weightRules),
    preference: part(2, nodeSelectorTermSchema, 'Node selector term; all of its requirements must match.', {
      required: true,
      always: true,
    }),
  },
)

const nodeAffinitySchema = struct('core.v1.NodeAffinity', 'Node affinity: scheduling rules based on nodes.', {
  requiredDuringSchedulingIgnoredDuringExecution: maybe(
    1,
    nodeSelectorSchema,
    'Required rules for scheduling; later changes of nodes do not evict the Pod.',
  ),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    2,
    preferredSchedulingTermSchema,
    'Preferred rules for scheduling.',
  ),
})

const podAffinityTermSchema = struct(
  'core.v1.PodAffinityTerm',
  'A set of Pods, and the topology domain that the Pod shares with them or avoids.',
  {
    labelSelector: maybe(1, selectorSchema, 'Label selector of the Pods.'),
    namespaces: texts(
      2,
      "Additional namespaces of the Pods; the Pod's own if both namespace fields are unset.",
    ),
    topologyKey: text(3, 'Node label that defines the topology domain.', {
      required: true,
      rule: checkQualifiedName,
    }),
    namespaceSelector: maybe(4, selectorSchema, 'Label selector of the namespaces; empty selects all.'),
  },
  { check: checkNamespaces },
)

const weightedPodAffinityTermSchema = struct('core.v1.WeightedPodAffinityTerm', 'A weighted affinity term.', {
  weight: int32(1, weightWords, weightRules),
  podAffinityTerm: part(2, podAffinityTermSchema, 'The affinity term.', { required: true, always: true }),
})

const terms = {
  requiredDuringSchedulingIgnoredDuringExecution: listOf(
    1,
    podAffinityTermSchema,
    'Required rules for scheduling; all must match, and later changes do not evict the Pod.',
  ),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    2,
    weightedPodAffinityTermSchema,
    'Preferred rules for scheduling.',
  ),
}

const podAffinitySchema = struct(
  'core.v1.PodAffinity',
  'Pod affinity: schedules the Pod near matching Pods.',
  terms,
)

const podAntiAffinitySchema = struct(
  'core.v1.PodAntiAffinity',
  'Pod anti-affinity: schedules the Pod away from matching Pods.',
  terms,
)

export const affinitySchema = struct('core.v1.Affinity', 'Affinity rules for scheduling a Pod.', {
  nodeAffinity: maybe(1, nodeAffinitySchema, 'Rules based on nodes.'),
  podAffinity: maybe(2, podAffinitySchema, 'Rules that attract the Pod to other Pods.'),
  podAntiAffinity: maybe(3, podAntiAffinitySchema, 'Rules that repel the Pod from other Pods.'),
})

function checkNamespaces(term: JsonObject, at: Path | null, found: Findings): void {
  textsMember(term, 'namespaces').forEach((namespace, index) => {
    for (const words of checkDns1123Label(namespace)) {
      found.add(invalid(fieldAt(at, 'namespaces', index), namespace, words))
    }
  })
}
