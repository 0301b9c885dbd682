import type { Endpoint } from '../credentials/endpoint.ts'
import { CredentialError } from '../credentials/errors.ts'
import { FileSource, readText } from '../credentials/file-source.ts'
import type { TextPlace } from '../credentials/file-source.ts'
import { processHost } from '../credentials/host.ts'
import { Kubeconfig } from '../credentials/kubeconfig.ts'
import { CliError } from './errors.ts'

export type EndpointFlags = {
  /** Unset: the contexts of the kubeconfig. */
  readonly endpoint?: readonly string[]
  readonly kubeconfig: string
  /** Unset: the current one and those of the same cluster. */
  readonly context?: readonly string[]
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
  readonly tokenFile?: string
  readonly insecureSkipTlsVerify?: boolean
}

/** Maximum number of endpoints. */
const endpointsMax = 16

/**
 * Returns the given endpoints, or the contexts of a kubeconfig, with credentials.
 *
 * @throws CliError `usage`: the flags are wrong, or there are too many endpoints; `failed`: a file
 * cannot be used
 */
export function verifyEndpoints(flags: EndpointFlags): readonly Endpoint[] {
  const found = endpointsOf(flags)
  const byUrl = new Map(found.map((endpoint) => [endpoint.url, endpoint]))
  if (byUrl.size > endpointsMax)
    throw new CliError('usage', `${byUrl.size} endpoints were given, at most ${endpointsMax} are possible`)
  const endpoints = [...byUrl.values()]
  return flags.insecureSkipTlsVerify === true
    ? endpoints.map((one) => ({ ...one, insecure: true }))
    : endpoints
}

function endpointsOf(flags: EndpointFlags): readonly Endpoint[] {
  try {
    if (flags.endpoint !== undefined) return given(flags, flags.endpoint)
    const config = new Kubeconfig(flags.kubeconfig, processHost)
    const { context = [] } = flags
    if (context.length > 0) return context.map((name) => config.endpoint(name))
    const { currentContext } = config
    if (currentContext !== null) return config.endpointsWith(currentContext)
    throw new CliError('failed', `${flags.kubeconfig} has no current context: name one by --context`)
  } catch (cause) {
    if (!(cause instanceof CredentialError)) throw cause
    const remedy = cause.code === 'unreadable' ? ' (orchctl cluster up makes one; or give --endpoint)' : ''
    throw new CliError('failed', `${cause.message}${remedy}`, { cause })
  }
}

function given(flags: EndpointFlags, urls: readonly string[]): readonly Endpoint[] {
  if (flags.context !== undefined)
    throw new CliError('usage', '--context goes with --kubeconfig, not with --endpoint')
  if ((flags.cert === undefined) !== (flags.key === undefined))
    throw new CliError('usage', '--cert and --key go together')
  if (flags.token !== undefined && flags.tokenFile !== undefined)
    throw new CliError('usage', 'use --token or --token-file, not both')
  const server = {
    authority: flags.ca === undefined ? null : readText(flags.ca),
    ...{ serverName: null, insecure: false },
  }
  const fileOf = (path: string | undefined): TextPlace | null =>
    path === undefined ? null : { kind: 'file', path }
  const options = {
    ...{ certificate: fileOf(flags.cert), key: fileOf(flags.key) },
    ...{ token: flags.token ?? null, tokenFile: flags.tokenFile ?? null },
    ...{ impersonation: [], where: 'the credentials of the command line' },
  }
  const credentials = new FileSource(options, processHost.clock)
  return urls.map((url) => ({ ...server, name: nameOf(url), url, credentials }))
}

function nameOf(url: string): string {
  try {
    const { protocol, host } = new URL(url)
    if (protocol === 'https:' || protocol === 'http:') return host
  } catch {
    // Reported below.
  }
  throw new CliError('usage', `--endpoint ${url} is not like https://host:6443`)
}
