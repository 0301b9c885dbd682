import { existsSync } from 'node:fs'
import { isProcessAlive } from '../host/process-alive.ts'
import { PkiError } from '../pki/errors.ts'
import { CertificateRenewal } from '../pki/renewal/certificate-renewal.ts'
import { membersIn, placesIn } from '../pki/renewal/renewable-pairs.ts'
import { CliError } from './errors.ts'
import type { Format, Terminal } from './terminal.ts'

/** Returns the renewal of the certificates in a directory of `orchctl pki init`. */
export function renewalIn({ clock, random }: Terminal, directory: string): CertificateRenewal {
  const log = { info: () => undefined, warn: () => undefined }
  return new CertificateRenewal({
    ...{ places: placesIn(directory, membersIn(directory)), clock, random, log },
    self: { pid: process.pid, isAlive: isProcessAlive },
  })
}

/**
 * Renews every certificate of a directory that `orchctl pki init` made, except those of the
 * authorities.
 *
 * @returns false: some could not be renewed
 * @throws CliError `failed` without certificates there
 */
export function pkiRenew(terminal: Terminal, directory: string, format: Format): boolean {
  const renewal = renewalIn(terminal, directory)
  const pairs = placesIn(directory, membersIn(directory)).pairs.filter(({ paths }) =>
    existsSync(paths.certificate),
  )
  if (pairs.length === 0) {
    const remedy = 'give the directory that orchctl pki init or orchctl cluster up made'
    throw new CliError('failed', `there are no certificates in ${directory}: ${remedy}`)
  }
  const renewed: string[] = []
  const failed: { readonly file: string; readonly why: string }[] = []
  for (const pair of pairs) {
    try {
      renewal.renewNow(pair)
      renewed.push(pair.paths.certificate, pair.paths.key)
    } catch (cause) {
      if (!(cause instanceof PkiError)) throw cause
      failed.push({ file: pair.paths.certificate, why: cause.message })
    }
  }
  const updated = renewal.refreshKubeconfigs()
  if (format === 'json') {
    terminal.print(JSON.stringify({ renewed, updated, failed }, null, 2))
  } else {
    for (const path of renewed) terminal.print(`renewed  ${path}`)
    for (const path of updated) terminal.print(`updated  ${path}`)
    for (const { why } of failed) terminal.note(why)
    if (renewed.length === 0) return false
    terminal.print('members that use these files load them within a second; copy them to the other members')
  }
  return failed.length === 0
}
