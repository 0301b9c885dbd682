import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import { credentialLimits } from './limits.ts'

/** One run of a program. */
export type PluginRun = {
  readonly command: string
  readonly args: readonly string[]
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whether it gets the standard input of this process; otherwise its input is empty. */
  readonly hasInput: boolean
}

export type PluginEnd =
  | { readonly kind: 'ended'; readonly output: string }
  | { readonly kind: 'failed'; readonly exitCode: number }
  | { readonly kind: 'killed'; readonly signal: string }
  /** @example ENOENT */
  | { readonly kind: 'not-started'; readonly code: string }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'timeout' }

/** Runs a program; its standard error is that of this process. Never rejects. */
export type RunPlugin = (run: PluginRun) => Promise<PluginEnd>

/** Returns the runner of real programs. */
export function pluginRunner(clock: Clock): RunPlugin {
  return ({ command, args, environment, hasInput }) => {
    let child: ChildProcess & { readonly stdout: Readable }
    try {
      child = spawn(command, args, {
        env: { ...environment },
        stdio: [hasInput ? 'inherit' : 'ignore', 'pipe', 'inherit'],
      })
    } catch (cause) {
      return Promise.resolve({ kind: 'not-started', code: codeOf(cause) })
    }
    return endOf(child, clock)
  }
}

function endOf(child: ChildProcess & { readonly stdout: Readable }, clock: Clock): Promise<PluginEnd> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let stopped: PluginEnd | null = null
    // Other processes may hold the output open, so it is closed as well.
    const stop = (end: PluginEnd): void => {
      stopped ??= end
      child.kill('SIGKILL')
      child.stdout.destroy()
    }
    const timer = clock.after(credentialLimits.pluginMsMax, () => stop({ kind: 'timeout' }))
    const settle = (end: PluginEnd): void => {
      timer.cancel()
      resolve(end)
    }
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > credentialLimits.outputBytesMax) stop({ kind: 'too-large' })
      else chunks.push(chunk)
    })
    child.stdout.on('error', () => stop({ kind: 'failed', exitCode: 1 }))
    child.on('error', (cause) => settle(stopped ?? { kind: 'not-started', code: codeOf(cause) }))
    child.on('close', (exitCode, signal) => {
      if (stopped !== null) settle(stopped)
      else if (exitCode === null) settle({ kind: 'killed', signal: signal ?? 'a signal' })
      else if (exitCode !== 0) settle({ kind: 'failed', exitCode })
      else settle({ kind: 'ended', output: Buffer.concat(chunks).toString('utf8') })
    })
  })
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
}
