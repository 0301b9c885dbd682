import type { Credentials, CredentialSource, Header } from './credentials.ts'
import { CredentialError } from './errors.ts'
import type { ExecConfig } from './exec-config.ts'
import { execInput, parseExecCredential } from './exec-credential.ts'
import type { ExecCluster } from './exec-credential.ts'
import { newExecState, nextStep, stepAfterRefusal } from './exec-state.ts'
import type { ExecState, ExecStep, Now } from './exec-state.ts'
import type { CredentialHost } from './host.ts'
import { credentialLimits } from './limits.ts'
import type { PluginEnd } from './run-plugin.ts'

export type ExecSourceOptions = {
  readonly exec: ExecConfig
  /** null: the plugin does not request it */
  readonly cluster: ExecCluster | null
  readonly impersonation: readonly Header[]
  /** Names the user of the client configuration in errors. */
  readonly where: string
}

/** The credentials of a plugin. It runs when there are none, when they expire, and after a 401. */
export class ExecSource implements CredentialSource {
  readonly #options: ExecSourceOptions
  readonly #host: CredentialHost
  #state: ExecState = newExecState
  /** The run in progress, which all requests share. */
  #running: Promise<Credentials> | null = null

  constructor(options: ExecSourceOptions, host: CredentialHost) {
    this.#options = options
    this.#host = host
  }

  /** @throws CredentialError `plugin` */
  async current(): Promise<Credentials> {
    const credentials = await this.#follow(nextStep(this.#state, this.#now()))
    if (credentials !== null) return credentials
    throw new CredentialError('plugin', `${this.#name} has no credentials`)
  }

  /** @throws CredentialError `plugin` */
  renew(refused: Credentials): Promise<Credentials | null> {
    if (this.#running !== null) return this.#running
    const now = this.#now()
    const step = stepAfterRefusal(this.#state, refused, now)
    if (step.kind === 'run') this.#state = { ...this.#state, renewedMs: now.monotonicMs }
    return this.#follow(step)
  }

  async #follow(step: ExecStep): Promise<Credentials | null> {
    switch (step.kind) {
      case 'use':
        return step.credentials
      case 'keep':
        return null
      case 'fail':
        throw step.error
      case 'run':
        this.#running ??= this.#run().finally(() => (this.#running = null))
        return this.#running
    }
  }

  async #run(): Promise<Credentials> {
    try {
      const { issued } = this.#checked(await this.#output())
      const { impersonation } = this.#options
      const credentials = { token: issued.token, identity: issued.identity, impersonation }
      this.#state = { ...this.#state, held: { credentials, expiresMs: issued.expiresMs }, failure: null }
      return credentials
    } catch (cause) {
      if (cause instanceof CredentialError) {
        const failure = { error: cause, atMs: this.#host.clock.monotonicMs() }
        this.#state = { ...this.#state, held: null, failure }
      }
      throw cause
    }
  }

  /** @throws CredentialError `plugin` */
  async #output(): Promise<string> {
    const { exec, cluster } = this.#options
    const interactive = this.#isInteractive()
    const own = Object.fromEntries(exec.env.map(({ name, value }) => [name, value]))
    const input = { [exec.names.variable]: execInput(exec.apiVersion, { interactive, cluster }) }
    const end = await this.#host.run({
      ...{ command: exec.command, args: exec.args, hasInput: interactive },
      environment: { ...this.#host.environment(), ...own, ...input },
    })
    if (end.kind === 'ended') return end.output
    throw new CredentialError('plugin', `${this.#name} ${failureWords(end, exec)}`)
  }

  /** @throws CredentialError `plugin` */
  #isInteractive(): boolean {
    const { interactiveMode } = this.#options.exec
    if (interactiveMode === 'Never') return false
    const isTerminal = this.#host.isTerminal()
    if (isTerminal || interactiveMode === 'IfAvailable') return isTerminal
    const remedy = 'run this in a terminal, or use credentials that need none'
    throw new CredentialError(
      'plugin',
      `${this.#name} was not run: interactiveMode is Always and the standard input is not a terminal; ${remedy}`,
    )
  }

  /** @throws CredentialError `plugin` */
  #checked(output: string): Extract<ReturnType<typeof parseExecCredential>, { readonly kind: 'issued' }> {
    const answer = parseExecCredential(output, this.#options.exec.apiVersion)
    if (answer.kind === 'issued') return answer
    const remedy = 'correct the plugin, or the section exec'
    throw new CredentialError('plugin', `${this.#name} gave no credentials: ${answer.why}; ${remedy}`)
  }

  get #name(): string {
    const { exec, where } = this.#options
    return `credential plugin ${JSON.stringify(exec.command)} (${where})`
  }

  #now(): Now {
    const { clock } = this.#host
    return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }
  }
}

function failureWords(end: Exclude<PluginEnd, { readonly kind: 'ended' }>, exec: ExecConfig): string {
  switch (end.kind) {
    case 'failed':
      return `failed with exit code ${end.exitCode}: see its messages, and run it by hand to find out why`
    case 'killed':
      return `was ended by ${end.signal}: run it by hand to find out why`
    case 'timeout':
      return `was ended after ${credentialLimits.pluginMsMax / 60_000} minutes: run it by hand to find out why`
    case 'too-large':
      return `printed more than ${credentialLimits.outputBytesMax} bytes: it has to print one ExecCredential`
    case 'not-started': {
      if (end.code !== 'ENOENT') {
        return `cannot be run (${end.code}): it has to be an executable file`
      }
      const hint = exec.installHint === '' ? '' : `\n${exec.installHint}`
      return `was not found: install it, or correct exec.command${hint}`
    }
  }
}
