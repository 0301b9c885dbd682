import type { Names } from '../api/metadata/names.ts'
import { isProtectedKind, protectionFinalizer } from '../registry/kinds/protection-finalizer.ts'
import type { AdmissionPlugin } from './chain.ts'

/**
 * Gives new claims and volumes the finalizer that keeps them while they are in use. The controllers
 * of storage protection remove it.
 *
 * @source spec 3.1; upstream `plugin/pkg/admission/storage/storageobjectinuseprotection`
 */
export function storageProtectionAdmission({ names }: { readonly names: Names }): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    mutate: ({ definition: { group, plural }, target, operation, object }) => {
      if (object === null || operation !== 'CREATE' || target.subresource !== null) return object
      if (group !== '' || !isProtectedKind(plural)) return object
      const finalizer = protectionFinalizer(names, plural)
      const { finalizers = [] } = object.metadata
      if (finalizers.includes(finalizer)) return object
      return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } }
    },
  }
}
