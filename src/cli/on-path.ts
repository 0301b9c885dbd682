import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { environment } from '../host/environment.ts'

/**
 * Returns whether a directory of `path` contains an executable file of that name. Running the
 * program would take longer than the rest of the command.
 */
export function isOnPath(program: string, path = environment()['PATH'] ?? ''): boolean {
  return path.split(delimiter).some((directory) => isExecutable(join(directory, program)))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
