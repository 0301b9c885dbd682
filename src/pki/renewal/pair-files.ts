import { readCertificate } from '../certificate.ts'
import { PkiError } from '../errors.ts'
import { asideSuffix, finishReplacing, readFileIfThere, replaceTogether } from '../files.ts'
import { readPrivateKey, samePublicKey } from '../keys.ts'
import type { Pair } from './issue-leaf.ts'

/** The files of a certificate and its key. */
export type PairPaths = { readonly certificate: string; readonly key: string }

/**
 * Replaces a certificate and its key. Both are on disk before either replaces its file, so that a
 * crash in between leaves what `completePair` needs.
 *
 * @throws PkiError `unusable`
 */
export function replacePair(paths: PairPaths, { certificate, key }: Pair): void {
  replaceTogether([
    { path: paths.key, text: key, secrecy: 'secret' },
    { path: paths.certificate, text: certificate, secrecy: 'public' },
  ])
}

/**
 * Completes the replacement of a pair after a crash: replaces the certificate too if only its key
 * was replaced. No effect on a pair that fits together.
 *
 * @returns whether it was completed
 * @throws PkiError `unusable`
 */
export function completePair(paths: PairPaths): boolean {
  const key = readFileIfThere(paths.key)
  const certificate = readFileIfThere(paths.certificate)
  if (key === null || certificate === null || fit(certificate, key)) return false
  const next = readFileIfThere(`${paths.certificate}${asideSuffix}`)
  if (next === null || !fit(next, key)) return false
  finishReplacing(paths.certificate)
  return true
}

/** Returns whether a certificate and a key belong together; false also for unreadable ones. */
export function fit(certificate: string, key: string): boolean {
  try {
    return samePublicKey(readCertificate(certificate).publicKey, readPrivateKey(key).publicKey)
  } catch (cause) {
    if (cause instanceof PkiError) return false
    throw cause
  }
}
