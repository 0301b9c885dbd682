import { dirname, resolve } from 'node:path'
import { isRecord } from '../../base/record.ts'
import { CredentialError } from './errors.ts'

/** Whether a credential plugin may read from the terminal. */
export type InteractiveMode = 'Never' | 'IfAvailable' | 'Always'

/** Section `exec` of a user. @source client-go `tools/clientcmd/api/v1` */
export type ExecConfig = {
  /** A path, or a name to look up in PATH. */
  readonly command: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly apiVersion: string
  /** The names that belong to the domain of `apiVersion`. */
  readonly names: ExecNames
  readonly interactiveMode: InteractiveMode
  readonly provideClusterInfo: boolean
  /** Text for a user without the command; empty: none. */
  readonly installHint: string
}

export type ExecNames = {
  /** The environment variable with the input of the plugin. */
  readonly variable: string
  /** The extension of a cluster with data for the plugin. */
  readonly extension: string
}

const orchNames: ExecNames = { variable: 'ORCH_EXEC_INFO', extension: 'client.authentication.orch.io/exec' }
const kubernetesNames: ExecNames = {
  variable: 'KUBERNETES_EXEC_INFO',
  extension: 'client.authentication.k8s.io/exec',
}

const namesByVersion: ReadonlyMap<string, ExecNames> = new Map([
  ['client.authentication.orch.io/v1', orchNames],
  ['client.authentication.orch.io/v1beta1', orchNames],
  ['client.authentication.k8s.io/v1', kubernetesNames],
  ['client.authentication.k8s.io/v1beta1', kubernetesNames],
])

/**
 * Reads section `exec` of a user.
 *
 * @param of.path of the client configuration; a relative command starts at its directory
 * @param of.where names the user in errors
 * @throws CredentialError `malformed`
 */
export function parseExec(value: unknown, of: { readonly path: string; readonly where: string }): ExecConfig {
  const wrong = (why: string): CredentialError => new CredentialError('malformed', `${of.where}: ${why}`)
  if (!isRecord(value)) throw wrong('exec must have command and apiVersion')
  const { command, apiVersion, args, env, installHint, provideClusterInfo } = value
  if (typeof command !== 'string' || command === '') throw wrong('exec needs command')
  const names = typeof apiVersion === 'string' ? namesByVersion.get(apiVersion) : undefined
  if (typeof apiVersion !== 'string' || names === undefined) {
    const known = [...namesByVersion.keys()].join(', ')
    throw wrong(`exec.apiVersion must be one of ${known}`)
  }
  if (!isUnset(args) && !isTexts(args)) throw wrong('exec.args must be a list of strings')
  if (!isUnset(installHint) && typeof installHint !== 'string')
    throw wrong('exec.installHint must be a string')
  if (!isUnset(provideClusterInfo) && typeof provideClusterInfo !== 'boolean')
    throw wrong('exec.provideClusterInfo must be true or false')
  return {
    command: resolvedCommand(command, of.path),
    args: isUnset(args) ? [] : args,
    env: environmentOf(env, wrong),
    ...{ apiVersion, names, interactiveMode: modeOf(value['interactiveMode'], apiVersion, wrong) },
    provideClusterInfo: provideClusterInfo === true,
    installHint: isUnset(installHint) ? '' : installHint.trim(),
  }
}

/** A name without a slash is looked up in PATH. */
function resolvedCommand(command: string, path: string): string {
  return command.includes('/') ? resolve(dirname(path), command) : command
}

function modeOf(mode: unknown, apiVersion: string, wrong: (why: string) => CredentialError): InteractiveMode {
  if (mode === 'Never' || mode === 'IfAvailable' || mode === 'Always') return mode
  if (isUnset(mode) || mode === '') {
    if (apiVersion.endsWith('/v1beta1')) return 'IfAvailable'
    throw wrong(`exec.interactiveMode is required by ${apiVersion}: Never, IfAvailable or Always`)
  }
  throw wrong('exec.interactiveMode must be Never, IfAvailable or Always')
}

function environmentOf(env: unknown, wrong: (why: string) => CredentialError): ExecConfig['env'] {
  if (isUnset(env)) return []
  if (!Array.isArray(env)) throw wrong('exec.env must be a list of name and value')
  return env.map((entry: unknown) => {
    const { name, value = '' }: Readonly<Record<string, unknown>> = isRecord(entry) ? entry : {}
    if (typeof name !== 'string' || typeof value !== 'string' || !/^[^=\0]+$/.test(name))
      throw wrong('each entry of exec.env needs a name, and a value that is a string')
    return { name, value }
  })
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function isUnset(value: unknown): value is undefined | null {
  return value === undefined || value === null
}
