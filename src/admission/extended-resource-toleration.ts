import { objectMember, objectsMember, textMember } from '../api/json.ts'
import { resourcesIn } from '../registry/quota/pod-usage.ts'
import { isExtendedResource } from '../api/schema/resource-names.ts'
import type { AdmissionPlugin } from './chain.ts'
import { isPodWrite, mainContainers, withSpec } from './pods.ts'

/**
 * Gives Pods that request extended resources tolerations for nodes that are tainted with the names
 * of these resources.
 *
 * @source upstream `plugin/pkg/admission/extendedresourcetoleration`
 */
export function extendedResourceToleration(): AdmissionPlugin {
  return {
    name: 'ExtendedResourceToleration',
    mutate: (request) => {
      const { object } = request
      if (object === null || !isPodWrite(request)) return object
      const spec = objectMember(object, 'spec')
      const requested = mainContainers(spec).flatMap((one) => [...resourcesIn(one, 'requests').keys()])
      const tolerations = objectsMember(spec, 'tolerations')
      const tolerated = new Set(
        tolerations
          .filter((one) => textMember(one, 'operator') === 'Exists')
          .filter((one) => textMember(one, 'effect') === 'NoSchedule')
          .map((one) => textMember(one, 'key')),
      )
      const missing = [...new Set(requested.filter(isExtendedResource))]
        .filter((key) => !tolerated.has(key))
        .sort()
      if (missing.length === 0) return object
      const added = missing.map((key) => ({ key, operator: 'Exists', effect: 'NoSchedule' }))
      return withSpec(object, { tolerations: [...tolerations, ...added] })
    },
  }
}
