import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'

/*
 * Rules for paths in a volume and on a node. An empty path passes: where a path is required,
 * another check rejects it.
 *
 * @source core `pkg/apis/core/validation`, validateLocalDescendingPath and
 * validateLocalNonReservedPath
 */

/** Checks that a path is relative, without `..`. @param field path of the value, for the error */
export function checkDescendingPath(path: string, field: string, found: Findings): void {
  if (path.startsWith('/')) found.add(invalid(field, path, 'must be a relative path'))
  checkNoBacksteps(path, field, found)
}

/** As `checkDescendingPath`; also rejects names that volumes use for their own files. */
export function checkFilePath(path: string, field: string, found: Findings): void {
  checkDescendingPath(path, field, found)
  if (path.startsWith('..') && !path.startsWith('../')) {
    found.add(invalid(field, path, "must not start with '..'"))
  }
}

/** Checks that no segment of a path is `..`. */
export function checkNoBacksteps(path: string, field: string, found: Findings): void {
  if (hasBackstep(path)) found.add(invalid(field, path, "must not contain '..'"))
}

export function hasBackstep(path: string): boolean {
  return /(?:^|\/)\.\.(?:\/|$)/.test(path)
}
