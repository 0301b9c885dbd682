import type { ApiErrorCause } from '../../api/api-error.ts'
import { invalid } from '../../api/field-error.ts'

/**
 * Rules for paths below a volume. Empty ones are for others to refuse.
 *
 * @param field where the path stands
 * @source facts Pod: "file modes 0..0777; item paths relative, no .."
 */

/** Not absolute, and no way up. */
export function checkDescendingPath(path: string, field: string): readonly ApiErrorCause[] {
  const causes = path.startsWith('/') ? [invalid(field, path, 'must be a relative path')] : []
  return [...causes, ...checkNoWayUp(path, field)]
}

/** As `checkDescendingPath`, and not one of the names under which volumes keep their own files. */
export function checkFilePath(path: string, field: string): readonly ApiErrorCause[] {
  const causes = [...checkDescendingPath(path, field)]
  if (path.startsWith('..') && !path.startsWith('../')) {
    causes.push(invalid(field, path, "must not start with '..'"))
  }
  return causes
}

/** No step of the path is `..`. */
export function checkNoWayUp(path: string, field: string): readonly ApiErrorCause[] {
  return path.split('/').includes('..') ? [invalid(field, path, "must not contain '..'")] : []
}
