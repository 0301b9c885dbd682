import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionPlugin } from './chain.ts'
import { isPodWrite, withSpec } from './pods.ts'

/** How long a Pod stays on a node that is not ready or not reachable, by default. */
const TOLERATION_SECONDS = 300

/**
 * Gives Pods tolerations of five minutes for nodes that are not ready or not reachable.
 *
 * @source upstream `plugin/pkg/admission/defaulttolerationseconds`
 */
export function defaultTolerationSeconds({ names }: { readonly names: Names }): AdmissionPlugin {
  const keys = [names.labelUnder('node', 'not-ready'), names.labelUnder('node', 'unreachable')]
  return {
    name: 'DefaultTolerationSeconds',
    mutate: (request) => {
      const { object } = request
      if (object === null || !isPodWrite(request)) return object
      const tolerations = objectsMember(objectMember(object, 'spec'), 'tolerations')
      const missing = keys.filter(
        (key) =>
          !tolerations.some((one) => {
            const [of, effect] = [textMember(one, 'key'), textMember(one, 'effect')]
            return (of === key || of === '') && (effect === 'NoExecute' || effect === '')
          }),
      )
      if (missing.length === 0) return object
      const added = missing.map((key) => ({
        ...{ key, operator: 'Exists', effect: 'NoExecute' },
        tolerationSeconds: TOLERATION_SECONDS,
      }))
      return withSpec(object, { tolerations: [...tolerations, ...added] })
    },
  }
}
