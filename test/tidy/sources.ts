import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './markdown.ts'

/** Folders of sources that are not tests. */
export const productFolders = ['base', 'raft', 'src', 'tools', 'bench', 'fixtures'] as const

/** All folders of sources. */
export const sourceFolders = [...productFolders, 'test'] as const

/** Returns the paths of all TypeScript files below a folder, relative to the root. */
export function sourcesUnder(folder: string): readonly string[] {
  return sourcesIn(root, folder)
}

/** Returns the paths of all TypeScript files below a folder of a checkout, relative to its root. */
export function sourcesIn(checkout: string, folder: string): readonly string[] {
  return readdirSync(join(checkout, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return sourcesIn(checkout, path)
    return entry.name.endsWith('.ts') ? [path] : []
  })
}
