import { forbidden } from '../api/errors/standard-errors.ts'
import { memberOf, objectMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AdmissionPlugin } from './chain.ts'
import { defaultClassName } from './default-class.ts'
import { withSpec } from './pods.ts'

/**
 * Gives new ingresses without a class the default one.
 *
 * @source upstream `plugin/pkg/admission/network/defaultingressclass`
 */
export function defaultIngressClass({ names }: { readonly names: Names }): AdmissionPlugin {
  const group = names.group('networking')
  const marks = [names.labelUnder('ingressclass', 'is-default-class')]
  return {
    name: 'DefaultIngressClass',
    mutate: ({ definition, target, operation, object, reads }) => {
      if (object === null || operation !== 'CREATE' || target.subresource !== null) return object
      if (definition.group !== group || definition.plural !== 'ingresses') return object
      if (memberOf(objectMember(object, 'spec'), 'ingressClassName') !== undefined) return object
      if (object.metadata.annotations?.[names.label('ingress.class')] !== undefined) return object
      const found = defaultClassName(reads, { group, plural: 'ingressclasses' }, marks)
      if (found.kind === 'none') return object
      if (found.kind === 'one') return withSpec(object, { ingressClassName: found.name })
      const why = `Internal error occurred: ${found.count} default IngressClasses were found`
      throw forbidden(resourceOf(definition), object.metadata.name ?? '', why)
    },
  }
}
