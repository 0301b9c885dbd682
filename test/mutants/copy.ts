import { copyFileSync, cpSync, linkSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs'
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository that this program was compiled from. */
export const root = normalize(join(fileURLToPath(new URL('.', import.meta.url)), '../../..'))

/** A copy of the compiled program in a directory of its own, whose files can be replaced. */
export class Copy {
  readonly directory: string

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'mutants-'))
    for (const name of ['package.json', 'proto', 'test']) {
      // Files that tests read in addition to the program. Copied, since some can also write them.
      cpSync(join(root, name), join(this.directory, name), { recursive: true, filter: isNoSource })
    }
    symlinkSync(join(root, 'node_modules'), join(this.directory, 'node_modules'))
    for (const entry of readdirSync(join(root, 'dist'), { withFileTypes: true })) {
      if (entry.isDirectory() && entry.name !== 'bundle') this.#link(join('dist', entry.name))
    }
  }

  /** @param file the path of a source from the root; `program` replaces its compiled file */
  replace(file: string, program: string): void {
    const path = join(this.directory, 'dist', file.replace(/\.ts$/, '.js'))
    // Removed first: to write through the link would change the original.
    rmSync(path)
    writeFileSync(path, program, { flag: 'wx' })
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }

  #link(folder: string): void {
    mkdirSync(join(this.directory, folder), { recursive: true })
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) this.#link(path)
      else if (extname(path) === '.js') linkOrCopy(join(root, path), join(this.directory, path))
    }
  }
}

export function sourceOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function isNoSource(path: string): boolean {
  return extname(path) !== '.ts'
}

/** Makes a hard link, because Node identifies a module by its real path. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    // The temporary directory is on another file system.
    copyFileSync(from, to)
  }
}
