import type { Names } from '../../api/metadata/names.ts'

/** The kinds whose objects stay while they are in use. */
export type ProtectedKind = 'persistentvolumeclaims' | 'persistentvolumes'

/** Returns the finalizer that keeps an object of the kind while it is in use. @source spec 3.1 */
export function protectionFinalizer(names: Names, plural: ProtectedKind): string {
  return names.label(plural === 'persistentvolumes' ? 'pv-protection' : 'pvc-protection')
}

/** Whether objects of the kind stay while they are in use. @param plural of the core group */
export function isProtectedKind(plural: string): plural is ProtectedKind {
  return plural === 'persistentvolumeclaims' || plural === 'persistentvolumes'
}
