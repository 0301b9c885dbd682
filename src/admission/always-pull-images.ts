import { forbidden } from '../api/errors/standard-errors.ts'
import { objectMember, objectsMember, textMember } from '../api/json.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AdmissionPlugin } from './chain.ts'
import { changedContainers, CONTAINER_LISTS, isPodWrite } from './pods.ts'

const ALWAYS = 'Always'

/**
 * Makes nodes pull the images of each Pod, so that a user needs the credentials for an image even
 * if it is on the node already.
 *
 * @source upstream `plugin/pkg/admission/alwayspullimages`
 */
export function alwaysPullImages(): AdmissionPlugin {
  return {
    name: 'AlwaysPullImages',
    mutate: (request) => {
      const { object } = request
      if (object === null || !isPodWrite(request)) return object
      const spec = objectMember(object, 'spec')
      const changed = changedContainers(spec, CONTAINER_LISTS, (container) =>
        textMember(container, 'imagePullPolicy') === ALWAYS
          ? container
          : { ...container, imagePullPolicy: ALWAYS },
      )
      return changed === spec ? object : { ...object, spec: changed }
    },
    validate: (request) => {
      const { object, definition } = request
      if (object === null || !isPodWrite(request)) return
      const spec = objectMember(object, 'spec')
      for (const list of CONTAINER_LISTS) {
        for (const [at, container] of objectsMember(spec, list).entries()) {
          const policy = textMember(container, 'imagePullPolicy')
          if (policy === ALWAYS) continue
          const why = `spec.${list}[${at}].imagePullPolicy: Unsupported value: ${JSON.stringify(policy)}: supported values: "Always"`
          throw forbidden(resourceOf(definition), object.metadata.name ?? '', why)
        }
      }
    },
  }
}
