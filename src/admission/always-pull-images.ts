import { forbidden } from '../api/errors/standard-errors.ts'
import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AdmissionPlugin } from './chain.ts'
import { changedContainers, CONTAINER_LISTS, isPodWrite } from './pods.ts'

const ALWAYS = 'Always'

/**
 * Makes nodes pull the images of each Pod, so that a user needs the credentials for an image even
 * if it is on the node already. Containers that the stored Pod has with the same image keep their
 * policy, which no update may change: a Pod from before this plugin can still be updated.
 *
 * @source upstream `plugin/pkg/admission/alwayspullimages`; beyond it, ephemeral containers
 */
export function alwaysPullImages(): AdmissionPlugin {
  return {
    name: 'AlwaysPullImages',
    mutate: (request) => {
      const { object } = request
      if (object === null || !isConcerned(request)) return object
      const isKnown = knownContainers(request)
      const spec = objectMember(object, 'spec')
      const changed = changedContainers(spec, CONTAINER_LISTS, (container, list) =>
        textMember(container, 'imagePullPolicy') === ALWAYS || isKnown(list, container)
          ? container
          : { ...container, imagePullPolicy: ALWAYS },
      )
      return changed === spec ? object : { ...object, spec: changed }
    },
    validate: (request) => {
      const { object, definition } = request
      if (object === null || !isConcerned(request)) return
      const isKnown = knownContainers(request)
      const spec = objectMember(object, 'spec')
      for (const list of CONTAINER_LISTS) {
        for (const [at, container] of objectsMember(spec, list).entries()) {
          const policy = textMember(container, 'imagePullPolicy')
          if (policy === ALWAYS || isKnown(list, container)) continue
          const why = `spec.${list}[${at}].imagePullPolicy: Unsupported value: ${JSON.stringify(policy)}: supported values: "Always"`
          throw forbidden(resourceOf(definition), object.metadata.name ?? '', why)
        }
      }
    },
  }
}

function isConcerned(request: AdmissionRequest): boolean {
  const { definition, target, operation } = request
  const isPods = definition.group === '' && definition.plural === 'pods'
  return (
    isPodWrite(request) || (isPods && operation === 'UPDATE' && target.subresource === 'ephemeralcontainers')
  )
}

/** Returns a function that returns whether the stored Pod has the container with its image. */
function knownContainers({ oldObject }: AdmissionRequest): (list: string, container: JsonObject) => boolean {
  if (oldObject === null) return () => false
  const spec = objectMember(oldObject, 'spec')
  const keyOf = (list: string, container: JsonObject): string =>
    JSON.stringify([list, textMember(container, 'name'), textMember(container, 'image')])
  const known = new Set(
    CONTAINER_LISTS.flatMap((list) => objectsMember(spec, list).map((one) => keyOf(list, one))),
  )
  return (list, container) => known.has(keyOf(list, container))
}
