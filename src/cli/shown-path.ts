import { relative, resolve } from 'node:path'

/** Returns a path as an operator types it: relative below the working directory, else absolute. */
export function shownPath(path: string, workingDirectory: string): string {
  const absolute = resolve(workingDirectory, path)
  const fromHere = relative(workingDirectory, absolute)
  const isBelow = fromHere !== '' && fromHere !== '..' && !fromHere.startsWith('../')
  return isBelow ? fromHere : absolute
}
