import { X509Certificate, createHash } from 'node:crypto'
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import type { Random } from '../../base/random.ts'
import { formatTime } from '../api/metadata/time.ts'
import { namesOf } from '../api/metadata/names.ts'
import type { Names } from '../api/metadata/names.ts'
import { durationMs, durationText } from '../config/flag.ts'
import { fixedCredentials } from '../credentials/credentials.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { ApiClient, messageOf } from './api-client.ts'
import { CliError } from './errors.ts'
import { readEndpoints } from './member-client.ts'
import type { SharedOptions } from './snapshot-commands.ts'
import { record, records } from './storage-targets.ts'
import { formatTable, sleep } from './terminal.ts'
import type { Format, Terminal } from './terminal.ts'

type Options = { readonly kubeconfig: string; readonly output: Format }
type CreateOptions = Options & {
  readonly ttl: number
  readonly description: string
  readonly groups: string
}

/** Adds the commands about the tokens with which nodes join. */
export function addBootstrapTokens(program: Command, terminal: Terminal, shared: SharedOptions): void {
  const tokens = program
    .command('token')
    .description('bootstrap tokens, with which new nodes join a cluster')
    .addHelpText('after', teaching)
  tokens
    .command('create')
    .description('create a token, and print the line that a node needs')
    .addOption(
      new Option('--ttl <duration>', 'lifetime, such as 24h; 0: it does not expire')
        .argParser(lifetime)
        .default(24 * HOUR_MS, durationText(24 * HOUR_MS)),
    )
    .option('--description <text>', 'what it is for', '')
    .option(
      '--groups <list>',
      'further groups, each beginning with system:bootstrappers:',
      groupList,
      DEFAULT_GROUP,
    )
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((options: CreateOptions) => withCluster(terminal, options, (of) => create(of, options)))
  tokens
    .command('list')
    .description('show the tokens without their secrets')
    .addOption(shared.kubeconfig())
    .addOption(shared.output())
    .action((options: Options) => withCluster(terminal, options, (of) => list(of, options)))
  tokens
    .command('delete')
    .description('delete a token: it is refused from then on')
    .argument('<id>', 'the 6 characters before the dot', tokenId)
    .addOption(shared.kubeconfig())
    .action((id: string, options: Options) => withCluster(terminal, options, (of) => remove(of, id)))
}

const HOUR_MS = 3_600_000
const clusterInfo = 'cluster-info'
/** The group to which the permissions of joining nodes are bound by the usual tools. */
const DEFAULT_GROUP = 'system:bootstrappers:kubeadm:default-node-token'

const teaching = `
A token authenticates a new node until the node has a certificate. Members accept tokens with
--enable-bootstrap-token-auth; with --controllers=*,bootstrapsigner,tokencleaner the leader signs the ConfigMap
cluster-info with each token, and deletes those that expired.

Examples:
  orchctl token create --ttl 2h --description "rack 7"
  orchctl token list
  orchctl token delete abcdef`

function lifetime(text: string): number {
  const ms = text === '0' ? 0 : durationMs(text)
  if (ms !== null && (ms === 0 || ms >= 60_000)) return ms
  throw new InvalidArgumentError('It is 0, or a duration from 1m, such as 24h.')
}

/** Members answer 401, without a reason, to a token with a group that does not match. */
function groupList(text: string): string {
  const groups = text.split(',').filter((group) => group !== '')
  const wrong = groups.find((group) => !/^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group))
  if (wrong === undefined) return groups.join(',')
  throw new InvalidArgumentError(
    `Group ${wrong} has to begin with system:bootstrappers: and consist of a-z, 0-9, colons and hyphens.`,
  )
}

function tokenId(text: string): string {
  if (/^[a-z0-9]{6}$/.test(text)) return text
  throw new InvalidArgumentError('It has 6 characters of a-z and 0-9, without the secret.')
}

/** The cluster of a command, and the member that it tries first. */
type Cluster = {
  readonly terminal: Terminal
  readonly client: ApiClient
  readonly endpoint: Endpoint
  readonly names: Names
}

async function withCluster(
  terminal: Terminal,
  { kubeconfig }: Options,
  run: (of: Cluster) => Promise<void>,
): Promise<void> {
  const endpoints = readEndpoints(kubeconfig)
  const [endpoint] = endpoints
  if (endpoint === undefined) throw new CliError('failed', `${kubeconfig} names no server`)
  const client = new ApiClient(endpoints, terminal.clock, 1)
  try {
    const { groups } = await client.object({ method: 'GET', path: '/apis' })
    const isUpstream = records(groups).some(({ name }) => name === 'rbac.authorization.k8s.io')
    await run({ terminal, client, endpoint, names: namesOf(isUpstream ? 'k8s.io' : 'orch.io') })
  } finally {
    client.close()
  }
}

async function create(of: Cluster, { ttl, description, groups, output }: CreateOptions): Promise<void> {
  const { terminal, client, endpoint, names } = of
  const [id, secret] = [drawn(terminal.random, 6), drawn(terminal.random, 16)]
  const expiration = ttl === 0 ? {} : { expiration: formatTime(terminal.clock.wallMs() + ttl) }
  const body = {
    ...{ apiVersion: 'v1', kind: 'Secret', type: names.secretTypes.bootstrapToken },
    metadata: { name: `bootstrap-token-${id}`, namespace: names.systemNamespace },
    stringData: {
      ...{ 'token-id': id, 'token-secret': secret },
      ...(groups === '' ? {} : { 'auth-extra-groups': groups }),
      ...{ 'usage-bootstrap-authentication': 'true', 'usage-bootstrap-signing': 'true' },
      ...expiration,
      ...(description === '' ? {} : { description }),
    },
  }
  // In the other order, a failure to create cluster-info would leave a valid token that was never
  // printed.
  await ensureClusterInfo(of)
  await client.object({ method: 'POST', path: secretsPath(names), body })
  const token = `${id}.${secret}`
  const join = joinLine(endpoint, token)
  if (output === 'json') terminal.print(JSON.stringify({ token, ...expiration, join }, null, 2))
  else terminal.print(join)
  if (await isRefused(of, token)) {
    terminal.note('members refuse this token: start them with --enable-bootstrap-token-auth')
  }
  if (await isUnsigned(of, id)) {
    const remedy = 'start the members with --controllers=*,bootstrapsigner,tokencleaner'
    terminal.note(`cluster-info is not signed with this token, so nodes cannot check it: ${remedy}`)
  }
}

/** Attempts to read cluster-info until the leader has signed it. */
const SIGNING_ATTEMPTS_MAX = 6

async function isUnsigned({ terminal, client, endpoint, names }: Cluster, id: string): Promise<boolean> {
  if (endpoint.authority === null) return false
  const path = `/api/v1/namespaces/${names.publicNamespace}/configmaps/${clusterInfo}`
  try {
    for (let attempt = 1; ; attempt++) {
      const { status, body } = await client.call({ method: 'GET', path })
      // After any other status, nothing is known about signatures.
      if (status !== 200) return false
      if (Object.hasOwn(record(body['data']), `jws-kubeconfig-${id}`)) return false
      if (attempt === SIGNING_ATTEMPTS_MAX) return true
      await sleep(terminal.clock, PAUSE_MS)
    }
  } catch (cause) {
    // The token exists, whether or not a member answers.
    if (cause instanceof CliError) return false
    throw cause
  }
}

/** Attempts to use a new token, which the member may not have applied yet. */
const ATTEMPTS_MAX = 3
const PAUSE_MS = 500

async function isRefused({ terminal, endpoint }: Cluster, token: string): Promise<boolean> {
  const asNode = { ...endpoint, credentials: fixedCredentials({ token }) }
  const client = new ApiClient([asNode], terminal.clock, 1)
  try {
    for (let attempt = 1; ; attempt++) {
      const { status } = await client.call({ method: 'GET', path: '/api/v1' })
      if (status !== 401) return false
      if (attempt === ATTEMPTS_MAX) return true
      await sleep(terminal.clock, PAUSE_MS)
    }
  } catch (cause) {
    // The token exists, whether or not a member answers.
    if (cause instanceof CliError) return false
    throw cause
  } finally {
    client.close()
  }
}

/** Characters are drawn without bias. */
function drawn(random: Random, length: number): string {
  return Array.from({ length }, () => ALPHABET[random.below(ALPHABET.length)] ?? '').join('')
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'

function secretsPath({ systemNamespace }: Names): string {
  return `/api/v1/namespaces/${systemNamespace}/secrets`
}

/** Creates the ConfigMap by which nodes find the cluster, and lets everyone read it. */
async function ensureClusterInfo({ client, endpoint, names }: Cluster): Promise<void> {
  if (endpoint.authority === null) return
  const namespace = names.publicNamespace
  const group = names.group('rbac.authorization')
  const rbac = `/apis/${group}/v1/namespaces/${namespace}`
  const name = clusterInfo
  const reader = 'orchctl:cluster-info'
  const cluster = {
    server: endpoint.url,
    'certificate-authority-data': Buffer.from(endpoint.authority).toString('base64'),
  }
  const kubeconfig = { apiVersion: 'v1', kind: 'Config', clusters: [{ name: '', cluster }] }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get'] }]
  const subjects = [
    { apiGroup: group, kind: 'User', name: 'system:anonymous' },
    { apiGroup: group, kind: 'Group', name: 'system:unauthenticated' },
  ]
  for (const [path, body] of [
    [
      `/api/v1/namespaces/${namespace}/configmaps`,
      { metadata: { name }, data: { kubeconfig: JSON.stringify(kubeconfig, null, 2) } },
    ],
    [`${rbac}/roles`, { metadata: { name: reader }, rules }],
    [
      `${rbac}/rolebindings`,
      { metadata: { name: reader }, roleRef: { apiGroup: group, kind: 'Role', name: reader }, subjects },
    ],
  ] as const) {
    const reply = await client.call({ method: 'POST', path, body })
    // Another tool may have created it, with its own content.
    if (reply.status >= 300 && reply.status !== 409) {
      throw new CliError('failed', `${path}: ${messageOf(reply)}`)
    }
  }
}

/** Returns the command line of a node. @source kubeadm join */
function joinLine({ url, authority }: Endpoint, token: string): string {
  const { host } = new URL(url)
  const line = `kubeadm join ${host} --token ${token}`
  if (authority === null) return `${line} --discovery-token-unsafe-skip-ca-verification`
  return `${line} --discovery-token-ca-cert-hash ${keyHash(authority)}`
}

/** The SHA-256 of the public key of the first certificate. */
function keyHash(authority: string): string {
  const der = new X509Certificate(authority).publicKey.export({ type: 'spki', format: 'der' })
  return `sha256:${createHash('sha256').update(der).digest('hex')}`
}

async function list({ terminal, client, names }: Cluster, { output }: Options): Promise<void> {
  const selector = encodeURIComponent(`type=${names.secretTypes.bootstrapToken}`)
  const { items } = await client.object({
    method: 'GET',
    path: `${secretsPath(names)}?fieldSelector=${selector}`,
  })
  const rows = records(items).map((item) => rowOf(record(item['data'])))
  if (output === 'json') terminal.print(JSON.stringify({ tokens: rows }, null, 2))
  else {
    const head = ['ID', 'EXPIRES', 'USAGES', 'GROUPS', 'DESCRIPTION']
    const cells = rows.map((row) => [row.id, row.expires, row.usages.join(','), row.groups, row.description])
    for (const line of formatTable([head, ...cells])) terminal.print(line)
  }
}

/** The secret is left out. */
function rowOf(data: Readonly<Record<string, unknown>>) {
  const value = (key: string): string => {
    const text = data[key]
    return typeof text === 'string' ? Buffer.from(text, 'base64').toString('utf8') : ''
  }
  const usages = ['authentication', 'signing'].filter((one) => value(`usage-bootstrap-${one}`) === 'true')
  return {
    id: value('token-id'),
    expires: value('expiration') || 'never',
    usages,
    groups: value('auth-extra-groups'),
    description: value('description'),
  }
}

async function remove({ terminal, client, names }: Cluster, id: string): Promise<void> {
  const path = `${secretsPath(names)}/bootstrap-token-${id}`
  const reply = await client.call({ method: 'DELETE', path })
  if (reply.status === 404) throw new CliError('failed', `there is no token ${id}: see orchctl token list`)
  if (reply.status >= 300) throw new CliError('failed', messageOf(reply))
  terminal.print(`token ${id} is deleted`)
}
