import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The server and `orchctl` as users get them. */
export const serverProgram = shipped('src/main.js')
export const orchctlProgram = shipped('src/cli/main.js')

/**
 * In few files, as `make build` left it; where only the compiler ran since, as that left it, so
 * that no test is about an older one.
 */
function shipped(program: string): string {
  const compiled = fileURLToPath(new URL(`../../../${program}`, import.meta.url))
  const bundled = fileURLToPath(new URL(`../../../bundle/${program}`, import.meta.url))
  const made = statSync(bundled, { throwIfNoEntry: false })
  return made !== undefined && made.mtimeMs >= statSync(compiled).mtimeMs ? bundled : compiled
}
