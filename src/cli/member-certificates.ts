import { isRecord } from '../../base/record.ts'
import { AnyMember } from './any-member.ts'
import { CliError } from './errors.ts'
import { call, jsonOf } from './member-client.ts'
import { byName } from './name-order.ts'

const path = '/cluster/v1/certificates'
const timeoutMs = 10_000

/** A certificate in a file, or in use by a member; see `ShownCertificate` of the server. */
export type SeenCertificate = {
  readonly use: string
  readonly source: string
  readonly subject: string
  readonly issuer: string
  readonly fingerprint: string
  readonly notBefore: string
  readonly expires: string
  readonly renewal: { readonly byItself: boolean; readonly at: string | null; readonly why: string | null }
}

export type MemberCertificates = {
  readonly members: readonly { readonly name: string; readonly certificates: readonly SeenCertificate[] }[]
  /** One line for each member that does not respond. */
  readonly unreachable: readonly string[]
}

/**
 * Returns the certificates that each member uses.
 *
 * @throws CliError `failed`: no member responds, or one responds without certificates
 */
export async function memberCertificates(kubeconfig: string): Promise<MemberCertificates> {
  const cluster = new AnyMember(kubeconfig)
  const status = await cluster.status()
  const answers = await Promise.all(
    status.members.toSorted(byName).map(async ({ name }) => {
      const endpoint = cluster.endpointOf(name)
      if (endpoint === null) return `member ${name}: its address is unknown`
      const reply = await call(endpoint, { method: 'GET', path }, timeoutMs)
      if (reply === null) return `member ${name} at ${endpoint.url} does not answer`
      return { name, certificates: certificatesIn(name, jsonOf(endpoint, reply)) }
    }),
  )
  return {
    members: answers.filter((answer) => typeof answer !== 'string'),
    unreachable: answers.filter((answer) => typeof answer === 'string'),
  }
}

function certificatesIn(
  member: string,
  { certificates }: Record<string, unknown>,
): readonly SeenCertificate[] {
  if (Array.isArray(certificates) && certificates.every(isSeen)) return certificates
  throw new CliError(
    'failed',
    `member ${member} did not return its certificates: upgrade it, or this program`,
  )
}

function isSeen(value: unknown): value is SeenCertificate {
  if (!isRecord(value) || !isRecord(value['renewal'])) return false
  const { byItself, at, why } = value['renewal']
  const texts = ['use', 'source', 'subject', 'issuer', 'fingerprint', 'notBefore', 'expires']
  const isTextOrNull = (one: unknown): boolean => one === null || typeof one === 'string'
  return (
    texts.every((name) => typeof value[name] === 'string') &&
    typeof byItself === 'boolean' &&
    isTextOrNull(at) &&
    isTextOrNull(why)
  )
}
