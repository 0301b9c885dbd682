/*
 * Removes from dist/ the files that were compiled from sources that no longer exist. The compiler
 * leaves them there when a source is moved or deleted, and the test runner would still run the old
 * tests among them.
 *
 *   node remove-stale.js [directory of the sources and dist/]
 */
import { existsSync, readdirSync, rmSync, rmdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(process.argv[2] ?? '.')
const outputs = /\.(js|js\.map|d\.ts)$/
/** The output of bundle.js, which removes its own stale files. */
const bundled = 'bundle'

/** Removes stale files of a folder, and empty folders. @param folder path below dist/ */
function clean(folder) {
  const path = join(root, 'dist', folder)
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const name = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (name !== bundled) clean(name)
    } else if (outputs.test(name) && !existsSync(join(root, name.replace(outputs, '.ts')))) {
      rmSync(join(path, entry.name))
    }
  }
  if (folder !== '' && readdirSync(path).length === 0) rmdirSync(path)
}

if (existsSync(join(root, 'dist'))) clean('')
