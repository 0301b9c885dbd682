import { forbidden } from '../api/errors/standard-errors.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import { NamespaceStates, namespaceRefusal } from '../registry/kinds/namespace-state.ts'
import type { AdmissionPlugin } from './chain.ts'

/**
 * Rejects creation in a namespace that is missing or being deleted, and deletion of the namespaces
 * that the platform needs. The command has the condition `namespace-active` too, so races are
 * decided when it is applied.
 *
 * @source apiserver `pkg/admission/plugin/namespace/lifecycle`
 */
export function namespaceLifecycle({ names }: { readonly names: Names }): AdmissionPlugin {
  const states = new NamespaceStates()
  const immortal: ReadonlySet<string> = new Set(['default', names.systemNamespace, names.publicNamespace])
  return {
    name: 'NamespaceLifecycle',
    mutate: (request) => {
      refuseDeletion(request, immortal)
      refuseCreation(request, states)
      return request.object
    },
  }
}

function refuseDeletion(request: AdmissionRequest, immortal: ReadonlySet<string>): void {
  const { definition, target, operation } = request
  if (operation !== 'DELETE' || definition.isNamespaceKind !== true || target.name === null) return
  if (!immortal.has(target.name)) return
  throw forbidden(resourceOf(definition), target.name, 'this namespace may not be deleted')
}

function refuseCreation(request: AdmissionRequest, states: NamespaceStates): void {
  const { definition, target, operation, object } = request
  if (operation !== 'CREATE' || target.namespace === null) return
  // Reviews are not stored in the namespace.
  if (definition.review !== undefined) return
  const state = states.of(target.namespace, request.reads)
  if (state === 'active') return
  const name = object?.metadata.name ?? target.name ?? ''
  throw namespaceRefusal(state, { definition, namespace: target.namespace, name })
}
