import { isatty } from 'node:tty'
import type { Clock } from '../../base/clock.ts'
import { RealClock } from '../host/clock.ts'
import { environment } from '../host/environment.ts'
import type { CredentialSource } from './credentials.ts'
import { credentialLimits } from './limits.ts'
import { pluginRunner } from './run-plugin.ts'
import type { RunPlugin } from './run-plugin.ts'

/** The parts of the machine that obtaining credentials needs. */
export type CredentialHost = {
  readonly clock: Clock
  readonly run: RunPlugin
  readonly environment: () => Readonly<Record<string, string | undefined>>
  /** Whether a user can type into the standard input. */
  readonly isTerminal: () => boolean
  readonly sources: SharedSources
}

/**
 * Sources by the settings that they were made of, so that a plugin runs once for all endpoints of a
 * user, and for all commands of a process.
 */
export class SharedSources {
  readonly #sources = new Map<string, CredentialSource>()

  get(settings: unknown, make: () => CredentialSource): CredentialSource {
    const key = JSON.stringify(settings)
    const found = this.#sources.get(key)
    if (found !== undefined) return found
    const made = make()
    const [oldest] = this.#sources.keys()
    if (oldest !== undefined && this.#sources.size >= credentialLimits.sourcesMax)
      this.#sources.delete(oldest)
    this.#sources.set(key, made)
    return made
  }
}

const clock = new RealClock()
const standardInput = 0

/** This process. */
export const processHost: CredentialHost = {
  ...{ clock, run: pluginRunner(clock), environment },
  isTerminal: () => isatty(standardInput),
  sources: new SharedSources(),
}
