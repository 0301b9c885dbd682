import { isRecord } from '../../base/record.ts'
import { askOnce } from './ask-once.ts'
import { CliError } from './errors.ts'
import { notBegun } from './pki-rotate.ts'
import type { Terminal } from './terminal.ts'

const path = '/cluster/v1/signing-authorities'

const missing =
  'the members share no signing authority: replace the files of --cluster-signing-cert-file and ' +
  '--cluster-signing-key-file on each member (without these flags: upgrade the members)'

/** The state of the authority that signs certificate requests, as a member returns it. */
type SigningState = { readonly phase: string; readonly trusted: number }

/**
 * Takes the next step of replacing the authority that signs certificate requests. The members share
 * its key, so nothing is copied and all of them take each step at once.
 *
 * @throws CliError `failed`
 */
export async function rotateSigning(
  terminal: Terminal,
  { kubeconfig, finish }: { readonly kubeconfig: string; readonly finish: boolean },
): Promise<void> {
  const say = (...lines: readonly string[]): void => lines.forEach((line) => terminal.print(line))
  const { phase, trusted } = await ask(kubeconfig)
  if (phase === 'announced') {
    if (finish) {
      throw new CliError('failed', 'the next authority does not sign yet: run it without --finish')
    }
    await ask(kubeconfig, { step: 'promote' })
    return say(
      'step 2 of 3: the next authority signs; certificates of the earlier one are still accepted',
      'next: renew the certificates that were issued through CertificateSigningRequests, and run this again',
      'with --finish',
    )
  }
  if (finish) {
    // After the leader replaced an authority there is an earlier one, too.
    if (trusted < 2) {
      throw new CliError('failed', notBegun)
    }
    await ask(kubeconfig, { step: 'finish' })
    return say(
      'step 3 of 3: certificates of earlier signing authorities are refused',
      'next: delete the ConfigMap extension-apiserver-authentication; it is created again without them',
    )
  }
  if (phase === 'issuing') {
    return say('the new authority signs on all members: --finish ends the trust in the old one')
  }
  await ask(kubeconfig, { step: 'announce' })
  say(
    'step 1 of 3: the members trust the next signing authority, too; the current one signs',
    'next: give both to programs with a copy of their own, such as that of --kubelet-certificate-authority',
    '(the ConfigMap extension-apiserver-authentication has both), and run this again',
  )
}

/**
 * Returns what remains to be done of a rotation that has begun.
 *
 * @returns null: nothing, or no member returns its signing authorities
 */
export async function signingRotation(kubeconfig: string): Promise<string | null> {
  try {
    const { phase } = await ask(kubeconfig)
    const next = 'orchctl pki rotate-ca --authority signing'
    if (phase === 'announced') return `the next signing authority is trusted, and signs after: ${next}`
    return phase === 'issuing' ? `earlier signing authorities are trusted until: ${next} --finish` : null
  } catch (cause) {
    if (cause instanceof CliError) return null
    throw cause
  }
}

async function ask(kubeconfig: string, body?: object): Promise<SigningState> {
  const check = 'orchctl pki status'
  const { phase, authorities } = await askOnce(kubeconfig, { path, check, missing }, body)
  if (typeof phase !== 'string' || !Array.isArray(authorities) || !authorities.every(isRecord)) {
    throw new CliError(
      'failed',
      'a member did not return its signing authorities: upgrade it, or this program',
    )
  }
  return { phase, trusted: authorities.length }
}
