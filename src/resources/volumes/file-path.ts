import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'

/**
 * Rules for paths below a volume. Empty ones are for others to refuse.
 *
 * @param field where the path stands
 * @source facts Pod: "file modes 0..0777; item paths relative, no .."
 */

/** Not absolute, and no way up. */
export function checkDescendingPath(path: string, field: string, found: Findings): void {
  if (path.startsWith('/')) found.add(invalid(field, path, 'must be a relative path'))
  checkNoWayUp(path, field, found)
}

/** As `checkDescendingPath`, and not one of the names under which volumes keep their own files. */
export function checkFilePath(path: string, field: string, found: Findings): void {
  checkDescendingPath(path, field, found)
  if (path.startsWith('..') && !path.startsWith('../')) {
    found.add(invalid(field, path, "must not start with '..'"))
  }
}

/** No step of the path is `..`. */
export function checkNoWayUp(path: string, field: string, found: Findings): void {
  if (hasWayUp(path)) found.add(invalid(field, path, "must not contain '..'"))
}

export function hasWayUp(path: string): boolean {
  return /(?:^|\/)\.\.(?:\/|$)/.test(path)
}
