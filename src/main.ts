#!/usr/bin/env node
import { realpathSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { BrokenInvariant } from '../base/assert.ts'
import { CodedError } from '../base/coded-error.ts'
import { startApp } from './app.ts'
import type { App, AppSeams } from './app.ts'
import { StartError } from './config/start-error.ts'
import { removedExitCode, removedMessage } from './membership/removal.ts'
import { ConfigError, usageExitCode } from './config/errors.ts'
import { helpText } from './config/help.ts'
import { limits } from './config/limits.ts'
import { loadConfig } from './config/load.ts'
import type { Config } from './config/config.ts'
import { RealClock } from './host/clock.ts'
import { RealRandom } from './host/random.ts'
import { openStandardOutput } from './host/standard-output.ts'
import { crash } from './host/crash.ts'
import { createLogger } from './host/logger.ts'
import { readTextFile } from './pki/files.ts'
import { programVersion } from './version.ts'

/**
 * Runs one member until it is stopped.
 * @param seams for tests; see `AppSeams`
 */
export async function main(seams: AppSeams = {}): Promise<void> {
  let config: Config
  try {
    const loaded = loadConfig({ args: process.argv.slice(2), readFile: readTextFile })
    if (loaded.kind === 'help') return void process.stdout.write(helpText())
    if (loaded.kind === 'version') return void process.stdout.write(`orch-apiserver ${programVersion}\n`)
    config = loaded.config
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    return lastLine(cause.message, usageExitCode)
  }
  await run(config, seams)
}

async function run(config: Config, seams: AppSeams): Promise<void> {
  const output = openStandardOutput({
    waitingBytesMax: limits.logWaitingBytesMax,
    onLinesDropped: (lost) =>
      log.error({ lost }, 'log lines were dropped: standard output was not read in time'),
  })
  const base = { member: config.name }
  const format = config['log-format']
  const log = createLogger({ level: config['log-level'], format, base, destination: output })
  process.on('exit', () => output.drain(limits.logDrainMsMax))
  const exit = (code: number): void => process.exit(code)
  const onFatal = (cause: unknown): void => {
    crash(cause instanceof Error ? cause : String(cause), { log, exit })
  }
  process.on('uncaughtException', onFatal)
  process.on('unhandledRejection', onFatal)
  let app: App
  try {
    app = await startApp(
      config,
      { clock: new RealClock(), random: new RealRandom(), log, output, pid: process.pid, onFatal },
      seams,
    )
  } catch (cause) {
    if (cause instanceof BrokenInvariant || !(cause instanceof CodedError)) return onFatal(cause)
    return lastLine(cause.message, cause instanceof StartError && cause.code === 'usage' ? usageExitCode : 1)
  }
  if (app.kubeconfig !== null) {
    const words = app.madeKeys ? 'made its own keys' : 'uses the keys that it made'
    log.info({ kubeconfig: app.kubeconfig }, words)
  }
  void app.removed.then((line) => {
    log.warn({ cause: line }, removedMessage)
    app.stop().then(
      () => exit(removedExitCode),
      (cause: unknown) => onFatal(cause),
    )
  })
  let signals = 0
  const stop = (signal: NodeJS.Signals): void => {
    signals++
    log.info({ signal }, 'stopping')
    // Second signal: exit immediately.
    if (signals > 1) {
      lastLine('second signal: exiting without waiting for requests in progress', 1)
      return exit(1)
    }
    app.stop().then(
      () => exit(0),
      (cause: unknown) => onFatal(cause),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

/** Writes one line for the operator to standard error. */
function lastLine(message: string, code: number): void {
  process.stderr.write(`orch-apiserver: ${firstLine(message)}\n`)
  process.exitCode = code
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href)
  void main()
