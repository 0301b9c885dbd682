/*
 * Removes from dist/ what was compiled from sources that no longer exist. The compiler leaves it
 * there when a source is moved or deleted, and the old tests among it would still be run.
 *
 *   node remove-stale.js [directory of the sources and dist/]
 */
import { existsSync, readdirSync, rmSync, rmdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(process.argv[2] ?? '.')
const outputs = /\.(js|js\.map|d\.ts)$/
/** The output of bundle.js, which removes its own stale files. */
const bundled = 'bundle'

/** @param folder its path below dist/ */
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
