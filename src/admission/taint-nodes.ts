import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionPlugin } from './chain.ts'
import { withSpec } from './pods.ts'

/**
 * Gives new nodes the taint of nodes that are not ready: no Pod is scheduled to them before their
 * state is known.
 *
 * @source upstream `plugin/pkg/admission/nodetaint`
 */
export function taintNodesByCondition({ names }: { readonly names: Names }): AdmissionPlugin {
  const key = names.labelUnder('node', 'not-ready')
  const effect = 'NoSchedule'
  return {
    name: 'TaintNodesByCondition',
    mutate: ({ definition, target, operation, object }) => {
      if (object === null || operation !== 'CREATE' || target.subresource !== null) return object
      if (definition.group !== '' || definition.plural !== 'nodes') return object
      const taints = objectsMember(objectMember(object, 'spec'), 'taints')
      const isTainted = taints.some(
        (taint) => textMember(taint, 'key') === key && textMember(taint, 'effect') === effect,
      )
      return isTainted ? object : withSpec(object, { taints: [...taints, { key, effect }] })
    },
  }
}
