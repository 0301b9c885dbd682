import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The server and `orchctl` as users get them. */
export const serverProgram = shipped('src/main.js')
export const orchctlProgram = shipped('src/cli/main.js')

/**
 * Returns the path of a program: of the bundle that `make build` wrote, or of the compiled sources
 * if they are newer, so that no test runs an older program.
 */
function shipped(program: string): string {
  const compiled = fileURLToPath(new URL(`../../../${program}`, import.meta.url))
  const bundled = fileURLToPath(new URL(`../../../bundle/${program}`, import.meta.url))
  const made = statSync(bundled, { throwIfNoEntry: false })
  return made !== undefined && made.mtimeMs >= statSync(compiled).mtimeMs ? bundled : compiled
}
