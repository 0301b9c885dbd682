import type { CredentialError } from './errors.ts'
import type { Credentials } from './credentials.ts'
import { credentialLimits } from './limits.ts'

/** Results of the earlier runs of a credential plugin. */
export type ExecState = {
  /** null: none yet */
  readonly held: {
    readonly credentials: Credentials
    /** Wall clock; null: they do not expire. */
    readonly expiresMs: number | null
  } | null
  /** The last run, if it failed. */
  readonly failure: { readonly error: CredentialError; readonly atMs: number } | null
  /** Start of the last run because of a 401; null: there was none. */
  readonly renewedMs: number | null
}

export const newExecState: ExecState = Object.freeze({ held: null, failure: null, renewedMs: null })

export type Now = { readonly wallMs: number; readonly monotonicMs: number }

export type ExecStep =
  | { readonly kind: 'use'; readonly credentials: Credentials }
  /** The plugin runs. */
  | { readonly kind: 'run' }
  | { readonly kind: 'fail'; readonly error: CredentialError }
  /** The refused credentials are the only ones. */
  | { readonly kind: 'keep' }

/** Decides what the next request uses. */
export function nextStep({ held, failure }: ExecState, now: Now): ExecStep {
  if (held !== null && !isExpired(held.expiresMs, now)) return { kind: 'use', credentials: held.credentials }
  return isRecent(failure?.atMs ?? null, now) && failure !== null
    ? { kind: 'fail', error: failure.error }
    : { kind: 'run' }
}

/**
 * Decides the step after a 401. Because of 401s, the plugin runs at most once in
 * `pluginAgainMsMin`: a server may refuse all credentials of the plugin.
 */
export function stepAfterRefusal(state: ExecState, refused: Credentials, now: Now): ExecStep {
  // Another request has renewed them already.
  if (state.held !== null && state.held.credentials !== refused) return nextStep(state, now)
  if (isRecent(state.renewedMs, now)) return { kind: 'keep' }
  return state.failure !== null && isRecent(state.failure.atMs, now)
    ? { kind: 'fail', error: state.failure.error }
    : { kind: 'run' }
}

function isExpired(expiresMs: number | null, { wallMs }: Now): boolean {
  return expiresMs !== null && wallMs > expiresMs
}

function isRecent(atMs: number | null, { monotonicMs }: Now): boolean {
  return atMs !== null && monotonicMs - atMs < credentialLimits.pluginAgainMsMin
}
