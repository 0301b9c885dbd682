import { existsSync } from 'node:fs'
import { readCertificate } from '../pki/certificate.ts'
import type { Certificate } from '../pki/certificate.ts'
import { readClientConfig } from '../pki/client-config.ts'
import { clusterPkiPaths } from '../pki/cluster-pki.ts'
import { readTextFile } from '../pki/files.ts'
import { isProcessAlive } from '../host/process-alive.ts'
import { AuthorityRotation } from '../pki/renewal/authority-rotation.ts'
import { lockForRotation } from '../pki/renewal/directory-lock.ts'
import type { PairPaths } from '../pki/renewal/pair-files.ts'
import { membersIn, placesIn } from '../pki/renewal/renewable-pairs.ts'
import { naming } from '../pki/renewal/signer.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'
import { CliError } from './errors.ts'
import { lackingMembers } from './lacking-members.ts'
import { lockWhileOffline } from './offline-check.ts'
import { memberCertificates } from './member-certificates.ts'
import type { MemberCertificates, SeenCertificate } from './member-certificates.ts'
import { renewalIn } from './pki-renew.ts'
import type { Terminal } from './terminal.ts'

/** The authorities with a key in a file. The signing authority is replaced by `rotateSigning`. */
export const rotatedAuthorities = ['client', 'peer', 'front-proxy'] as const
export type RotatedAuthority = (typeof rotatedAuthorities)[number]

export type RotateOptions = {
  readonly directory: string
  readonly authority: RotatedAuthority
  /** Path of the file to find the members with. null: none was found */
  readonly kubeconfig: string | null
  /** No member runs, so the certificates of members are not checked. */
  readonly offline: boolean
  readonly finish: boolean
}

/**
 * Takes the next step of replacing an authority, once every member has taken the one before.
 *
 * @throws CliError `failed` with what is missing; PkiError
 */
export async function pkiRotate(terminal: Terminal, options: RotateOptions): Promise<void> {
  const { directory, authority } = options
  const all = clusterPkiPaths(directory)
  const paths = { client: all.ca, peer: all.peerCa, 'front-proxy': all.frontProxyCa }[authority]
  if (!existsSync(paths.certificate)) {
    const remedy = 'give the directory that orchctl pki init or orchctl cluster up made'
    throw new CliError('failed', `there is no ${paths.certificate}: ${remedy}`)
  }
  // The lock is needed because requests to members give another run time to take the same step.
  const unlock = lockForRotation(directory, { pid: process.pid, isAlive: isProcessAlive })
  try {
    const unlockData = options.offline ? await lockWhileOffline(terminal, options) : (): void => undefined
    try {
      await takeStep(terminal, options.offline ? { ...options, kubeconfig: null } : options, paths)
    } finally {
      unlockData()
    }
  } finally {
    unlock()
  }
}

async function takeStep(terminal: Terminal, options: RotateOptions, paths: PairPaths): Promise<void> {
  const { directory, finish } = options
  const { clock, random } = terminal
  const rotation = new AuthorityRotation({ paths, clock, random })
  const say = (...lines: readonly string[]): void => lines.forEach((line) => terminal.print(line))
  switch (rotation.phase) {
    case 'steady':
      if (finish) throw new CliError('failed', notBegun)
      rotation.announce()
      renewalIn(terminal, directory).refreshKubeconfigs()
      return say(
        `step 1 of 3: ${paths.certificate} holds the next authority after the current one`,
        `next: copy that file to ${holders[options.authority]} that has its own copy, and run this again`,
      )
    case 'announced': {
      if (finish)
        throw new CliError('failed', 'the next authority does not sign yet: run it without --finish')
      await checkTrusted(terminal, options, rotation.next)
      rotation.promote()
      reissue(terminal, directory)
      return say(...promoted[options.authority])
    }
    case 'issuing': {
      rotation.promote()
      reissue(terminal, directory)
      if (!finish) {
        await checkShown(terminal, options)
        return say(`${shownWords(options)}: --finish ends the trust in the old one`)
      }
      checkReissued(options, rotation.retired)
      await checkShown(terminal, options)
      rotation.finish()
      renewalIn(terminal, directory).refreshKubeconfigs()
      return say(
        `step 3 of 3: ${paths.certificate} holds the new authority alone; certificates of the old one are refused`,
        `next: copy that file to ${holders[options.authority]} that has its own copy`,
      )
    }
  }
}

/** The error of `--finish` without a rotation. The last step of an earlier run may be done. */
export const notBegun =
  'no rotation has begun, or its last step is done: to replace the authority, run this without --finish'

/** The programs that verify certificates of an authority. */
const holders = {
  client: 'every member and client',
  peer: 'every member',
  'front-proxy': 'every member',
} as const

/** The result of the second step, and what follows it. */
const promoted = {
  client: [
    'step 2 of 3: the next authority signs; it issued the certificates of the servers and the admin in the directory',
    'next: copy the new certificates and keys to the members that have their own copies, give users',
    'certificates of the new authority, and run this again with --finish',
  ],
  peer: [
    'step 2 of 3: the next authority signs; it issued the peer certificates in the directory',
    'next: copy the new certificates and keys to the members that have their own copies, and run this again',
    'with --finish',
  ],
  'front-proxy': [
    'step 2 of 3: the next authority signs; the directory has no certificates of proxies',
    'next: give proxies certificates of the new authority, and run this again with --finish',
  ],
} as const

/** Returns what was checked before the last step. */
function shownWords({ authority, kubeconfig }: RotateOptions): string {
  if (authority === 'front-proxy') return 'the new authority signs; certificates of proxies were not checked'
  if (kubeconfig === null) return 'the new authority signs; the members were not checked (--offline)'
  return 'the new authority signs; the members show the certificates of the directory'
}

/**
 * Issues the certificates of the directory with the new authority, and reports those that cannot be
 * issued.
 */
function reissue(terminal: Terminal, directory: string): void {
  const outcomes = renewalIn(terminal, directory).check()
  for (const [path, outcome] of outcomes) {
    if (outcome.kind !== 'impossible' || !existsSync(path)) continue
    // Not a failure: it may be a certificate of another authority, whose key is missing here.
    terminal.note(`${path} was not renewed: ${outcome.why}`)
  }
}

const uses = { client: 'client-ca', peer: 'peer-ca', 'front-proxy': 'front-proxy-ca' } as const

/** @throws CliError `failed`: a member or the kubeconfig does not trust the next authority */
async function checkTrusted(
  terminal: Terminal,
  options: RotateOptions,
  next: Certificate | null,
): Promise<void> {
  const { kubeconfig, authority } = options
  if (kubeconfig === null || next === null) return
  const use = uses[authority]
  const lacking = await lackingMembers(terminal.clock, async () =>
    (await reached(kubeconfig)).members
      .filter(({ certificates }) =>
        // A member without proxies needs no authority for them.
        authority === 'front-proxy' && !certificates.some((one) => one.use === use)
          ? false
          : !certificates.some((one) => one.use === use && one.fingerprint === next.fingerprint),
      )
      .map(({ name }) => name),
  )
  if (lacking.length > 0) {
    const file = `the file of --${authority === 'front-proxy' ? 'requestheader-client-ca-file' : `${use}-file`}`
    throw new CliError(
      'failed',
      `the next authority is not trusted yet by ${lacking.join(', ')}: copy the bundle to ${file}, and run this again`,
    )
  }
  if (authority !== 'client') return
  const known = readTrustBundle(readClientConfig(kubeconfig).authority ?? '').authorities
  if (known.some(({ fingerprint }) => fingerprint === next.fingerprint)) return
  throw new CliError(
    'failed',
    `${kubeconfig} does not trust the next authority yet: put the bundle into its certificate-authority-data`,
  )
}

/** @throws CliError `failed`: the retired authority issued a certificate in the directory */
function checkReissued({ directory, authority }: RotateOptions, retired: readonly Certificate[]): void {
  if (authority === 'front-proxy') return
  const pairs = placesIn(directory, membersIn(directory)).pairs.filter(({ use }) =>
    authority === 'peer' ? use === 'peer' : use !== 'peer',
  )
  const left = pairs
    .map(({ paths }) => paths.certificate)
    .filter((path) => existsSync(path))
    .filter((path) => {
      const { x509 } = naming(path, () => readCertificate(readTextFile(path)))
      return retired.some(({ publicKey }) => x509.verify(publicKey))
    })
  if (left.length === 0) return
  const remedy = 'replace or remove it, and run this again'
  throw new CliError('failed', `${left.join(', ')} is still of the old authority: ${remedy}`)
}

/** @throws CliError `failed`: a member shows a certificate that is not in the directory */
async function checkShown(
  terminal: Terminal,
  { directory, authority, kubeconfig }: RotateOptions,
): Promise<void> {
  if (kubeconfig === null || authority === 'front-proxy') return
  const use = authority === 'client' ? 'server' : 'peer'
  const pairs = placesIn(directory, membersIn(directory)).pairs.filter((pair) => pair.use === use)
  const issued = new Set(
    pairs
      .filter(({ paths }) => existsSync(paths.certificate))
      .map(({ paths }) => readCertificate(readTextFile(paths.certificate)).fingerprint),
  )
  const isOther = (one: SeenCertificate): boolean => one.use === use && !issued.has(one.fingerprint)
  const lacking = await lackingMembers(terminal.clock, async () =>
    (await reached(kubeconfig)).members
      .filter(({ certificates }) => certificates.some(isOther))
      .map(({ name }) => name),
  )
  if (lacking.length === 0) return
  const remedy = `copy the ${use}.crt and ${use}.key of each from ${directory}/members to its host, and run this again`
  throw new CliError('failed', `another ${use} certificate is shown by ${lacking.join(', ')}: ${remedy}`)
}

/** @throws CliError `failed`: not all members respond */
async function reached(kubeconfig: string): Promise<MemberCertificates> {
  const remedy = 'start it, or give --offline if no member of this cluster runs'
  const seen = await memberCertificates(kubeconfig).catch((cause: unknown) => {
    if (!(cause instanceof CliError)) throw cause
    throw new CliError('failed', `${cause.message}: ${remedy}`, { cause })
  })
  if (seen.unreachable.length > 0) {
    throw new CliError('failed', `${seen.unreachable.join('; ')}: ${remedy}`)
  }
  return seen
}
