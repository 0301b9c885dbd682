import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The programs of one checkout. */
export type Programs = {
  /** `orch-apiserver` */
  readonly server: string
  /** `orchctl` */
  readonly command: string
}

export const ownPrograms = programsIn(fileURLToPath(new URL('..', import.meta.url)))

/** @param bundle the directory `dist/bundle` of a compiled checkout */
export function programsIn(bundle: string): Programs {
  const sources = join(resolve(bundle), 'src')
  return { server: join(sources, 'main.js'), command: join(sources, 'cli', 'main.js') }
}

/** Runs `orchctl` to its end, without its output. @throws Error when it fails */
export async function runCommand({ command }: Programs, words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [command, ...words], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`orchctl ${words.join(' ')} failed`)
}
