import type { Names } from '../../api/metadata/names.ts'

/**
 * Returns the finalizer that keeps an object of this kind while it is in use, or null if no such
 * finalizer exists.
 *
 * @source spec 3.1
 */
export function protectionFinalizer(
  names: Names,
  { group, plural }: { readonly group: string; readonly plural: string },
): string | null {
  if (group !== '') return null
  if (plural === 'persistentvolumeclaims') return names.label('pvc-protection')
  return plural === 'persistentvolumes' ? names.label('pv-protection') : null
}
