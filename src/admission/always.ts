import { forbidden, notFound } from '../api/errors/standard-errors.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import { NamespaceStates } from '../registry/kinds/namespace-state.ts'
import type { AdmissionPlugin } from './chain.ts'

/** Admits everything. @source upstream `plugin/pkg/admission/admit` */
export function alwaysAdmit(): AdmissionPlugin {
  return { name: 'AlwaysAdmit' }
}

/** Refuses everything. @source upstream `plugin/pkg/admission/deny` */
export function alwaysDeny(): AdmissionPlugin {
  return {
    name: 'AlwaysDeny',
    validate: ({ definition, target, object }) => {
      const name = object?.metadata.name ?? target.name ?? ''
      throw forbidden(resourceOf(definition), name, 'admission control is denying all modifications')
    },
  }
}

/**
 * Refuses every write in a namespace that does not exist.
 *
 * @source upstream `plugin/pkg/admission/namespace/exists`
 */
export function namespaceExists(): AdmissionPlugin {
  const states = new NamespaceStates()
  return {
    name: 'NamespaceExists',
    validate: ({ target, operation, reads }) => {
      if (target.namespace === null || operation === 'CONNECT') return
      if (states.of(target.namespace, reads) !== 'absent') return
      throw notFound({ group: '', resource: 'namespaces' }, target.namespace)
    },
  }
}
