import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { JoinRequest } from './join-request.ts'
import { isOfAuthority, parseJoinToken } from './join-token.ts'
import type { Config } from '../config/config.ts'
import { limits } from '../config/limits.ts'
import { PkiError } from '../pki/errors.ts'
import { readFileIfThere, readTextFile, removeFile, writeNewFile } from '../pki/files.ts'
import { programVersion } from '../version.ts'
import { StartError } from '../config/start-error.ts'
import { callJoin } from './join-call.ts'
import type { JoinReply } from './join-call.ts'
import { joinedOf, idOf } from '../data-dir/joining-codec.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import type { MemberIdentity } from '../data-dir/member-identity.ts'
import { checkUnused, writeIdentity } from '../data-dir/member-identity.ts'
import { clientAddress } from '../config/client-address.ts'
import { joiningFileName } from '../data-dir/layout.ts'

export type JoinOptions = {
  readonly config: Config
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
}

const [firstPauseMs, pauseMsMax] = [250, 2000]

/**
 * Sends a join request to the members that `--join` names, until one accepts it, and claims the
 * directory with the identity in its answer. The order of the steps lets the same command complete
 * a join that a crash interrupted: the nonce of this join is durable before it is sent, and the
 * claim before the files of the member are written.
 *
 * @throws StartError `usage`: the token or the authority is wrong, the request is rejected, or no
 * address can help; `join`: no member accepted it in time, or an answer is not understood;
 * `data-directory`: it has a log, or is damaged
 */
export async function joinCluster(
  options: JoinOptions,
  directory: string,
  keys: MemberKeys,
): Promise<MemberIdentity> {
  const { config, log } = options
  const token = tokenOf(config)
  const authority = keys.server.clientAuthorities ?? ''
  checkKeys(config, keys, token)
  checkUnused(directory)
  const request: JoinRequest = {
    name: config.name,
    nonce: nonceOf(directory, options.random),
    clusterName: config['cluster-name'],
    apiDomain: config['api-domain'],
    peerAddress: config['peer-address'],
    clientAddress: clientAddress(config),
    version: programVersion,
    featureLevelMax: config['feature-level-max'],
    fingerprints: keys.fingerprints,
  }
  log.info({ members: config.join, as: config.name }, 'joining the cluster')
  const identity = await requestUntilAnswered(options, (address) => {
    return callJoin({ address, authority, token: token.text, body: request })
  })
  writeIdentity(directory, identity)
  removeFile(join(directory, joiningFileName))
  const { id, joined } = identity
  log.info({ id, index: joined?.configurationIndex }, 'joined: this process is a member from now on')
  return identity
}

type Token = { readonly text: string; readonly isOf: (fingerprint: string) => boolean }

/** @throws StartError `usage` */
function tokenOf(config: Config): Token {
  const path = config['join-token-file']
  const flag = path === '' ? '--join-token' : `--join-token-file ${path}`
  const text = path === '' ? config['join-token'] : read(path)
  if (text.trim() === '')
    throw usage(`--join needs --join-token: orchctl member add ${config.name} makes one`)
  const token = parseJoinToken(text)
  if (token === null) {
    throw usage(`${flag} is not a join token: give all of what orchctl member add printed`)
  }
  return { text: text.trim(), isOf: (fingerprint) => isOfAuthority(token, fingerprint) }
}

function read(path: string): string {
  try {
    return readTextFile(path)
  } catch (cause) {
    if (!(cause instanceof PkiError)) throw cause
    throw usage(`--join-token-file: ${cause.message}`)
  }
}

/** @throws StartError `usage` */
function checkKeys(config: Config, keys: MemberKeys, token: Token): void {
  if (!token.isOf(keys.fingerprints['client-ca'] ?? '')) {
    const file = `--client-ca-file ${config['client-ca-file']}`
    throw usage(
      `the token is of a cluster with another authority than ${file}: give the ca.crt of the cluster that made it`,
    )
  }
}

/**
 * Returns the nonce, which is stored until the process is a member: a retry is the same join.
 * @throws StartError
 */
function nonceOf(directory: string, random: Random): string {
  const path = join(directory, joiningFileName)
  const kept = readFileIfThere(path)
  if (kept === null) {
    const nonce = Buffer.from(random.bytes(16)).toString('hex')
    writeNewFile(path, `${nonce}\n`, 'secret')
    return nonce
  }
  const [, nonce] = /^([0-9a-f]{32})\n$/.exec(kept) ?? []
  if (nonce !== undefined) return nonce
  const remedy = 'remove it and join with another token (orchctl member add)'
  throw new StartError('data-directory', `${path} is damaged: ${remedy}`)
}

/**
 * Tries one member after the other, again and again, until one accepts or rejects the request, no
 * address can help, or the time is over.
 */
async function requestUntilAnswered(
  { config, clock, log }: JoinOptions,
  ask: (address: string) => Promise<JoinReply>,
): Promise<MemberIdentity> {
  const endMs = clock.monotonicMs() + limits.joinMsMax
  let reported = ''
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMsMax, 2 * pauseMs)) {
    const troubles: string[] = []
    let mayRetry = false
    for (const address of config.join) {
      const reply = await ask(address)
      if (reply.kind === 'answer' && reply.status === 200) return identityOf(reply.body, address, config)
      const trouble = troubleOf(reply, address)
      // A member that knows the token and rejects the request decides for all.
      if (trouble.kind === 'refused') throw usage(trouble.line)
      mayRetry ||= trouble.kind === 'later'
      troubles.push(trouble.line)
    }
    const line = troubles.join('; ')
    if (!mayRetry) throw usage(line)
    if (clock.monotonicMs() >= endMs) {
      const seconds = limits.joinMsMax / 1000
      throw new StartError(
        'join',
        `no member accepted the join request within ${seconds} s (${line}): start this process again`,
      )
    }
    if (line !== reported) log.warn({ why: troubles }, 'join request not accepted yet, retrying')
    reported = line
    await new Promise<void>((resolve) => {
      clock.after(pauseMs, resolve)
    })
  }
}

/** `refused`: by the cluster; `never`: this address cannot help; `later`: a retry may succeed. */
type Trouble = { readonly kind: 'refused' | 'never' | 'later'; readonly line: string }

function troubleOf(reply: JoinReply, address: string): Trouble {
  switch (reply.kind) {
    case 'no-answer':
      return { kind: 'later', line: `${address} does not answer: ${reply.why}` }
    case 'untrusted': {
      const remedy = 'give --join members of the cluster that made the token, by a name of their certificates'
      return { kind: 'never', line: `${address} is not trusted (${reply.why}): ${remedy}` }
    }
    case 'answer': {
      const line = `${address}: ${messageOf(reply.body) ?? `HTTP ${reply.status}`}`
      if (reply.status === 401) {
        const remedy = 'it is older than an hour, superseded, or mistyped; orchctl member add makes another'
        // The member has checked with the leader, so no other member has newer data.
        return { kind: 'refused', line: `${address} does not accept this token: ${remedy}` }
      }
      if (reply.status === 404 || reply.status === 405) {
        return {
          kind: 'never',
          line: `${address} does not support joining: upgrade the cluster to this version first`,
        }
      }
      if (reply.status === 429 || reply.status >= 500) return { kind: 'later', line }
      return { kind: 'refused', line }
    }
  }
}

/** @throws StartError `join` */
function identityOf(body: unknown, address: string, config: Config): MemberIdentity {
  const { clusterName, life, memberId } = fieldsOf(body)
  const id = idOf(memberId)
  const joined = joinedOf(body)
  if (id === null || joined === null || clusterName !== config['cluster-name']) {
    throw new StartError(
      'join',
      `${address} sent an unexpected answer: run the same version as the other members`,
    )
  }
  return {
    cluster: config['cluster-name'],
    member: config.name,
    id,
    apiDomain: config['api-domain'],
    ...(typeof life === 'string' ? { life } : {}),
    joined,
  }
}

function messageOf(body: unknown): string | null {
  const { message } = fieldsOf(body)
  return typeof message === 'string' ? message : null
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

function usage(message: string): StartError {
  return new StartError('usage', message)
}
