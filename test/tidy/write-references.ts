/**
 * Writes the generated documents: `make docs`.
 *
 *   node dist/test/tidy/write-references.js
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './markdown.ts'
import { references, referenceText } from './references.ts'

for (const [path, make] of Object.entries(references)) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), await referenceText(make))
  console.log(path)
}
