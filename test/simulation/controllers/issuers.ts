import { createPrivateKey, createPublicKey } from 'node:crypto'
import { SeededRandom } from '../../../base/random.ts'
import type { Random } from '../../../base/random.ts'
import type { CertificateIssuing } from '../../../src/app/controllers/certificates.ts'
import { createAuthority } from '../../../src/pki/authority.ts'
import type { Authority } from '../../../src/pki/authority.ts'
import type { KeyPair } from '../../../src/pki/keys.ts'
import type { TokenIssuer } from '../../../src/registry/kinds/token-issuer.ts'
import { allowsEverything } from '../../support/fakes/allow-all-reviewers.ts'
import { certificateRequest } from '../../support/fixtures/certificate-request.ts'

/*
 * ECDSA signatures and new keys differ each time, so one seed would have several histories.
 * Therefore the authority has a fixed Ed25519 key, and tokens are drawn from the seed.
 */

/** PKCS #8 of an Ed25519 key, without the key itself. @source RFC 8410 section 7 */
const keyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Returns the key pair that the seed determines. */
function keyPair(seed: number): KeyPair {
  const key = new SeededRandom(seed).bytes(32)
  const privateKey = createPrivateKey({
    ...{ key: Buffer.concat([keyPrefix, key]), format: 'der', type: 'pkcs8' },
  })
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

const authorities = new Map<number, Authority>()

/** Returns the authority number 0, 1 and so on: the same in each run. */
export function simulatedAuthority(number: number): Authority {
  const known = authorities.get(number)
  if (known !== undefined) return known
  const made = createAuthority({
    ...{ notBeforeMs: Date.UTC(2000, 0, 1), notAfterMs: Date.UTC(2040, 0, 1) },
    ...{ commonName: `authority ${number}`, random: new SeededRandom(number), keys: keyPair(number) },
  })
  authorities.set(number, made)
  return made
}

const yearMs = 365 * 86_400_000

/** @param random draws serial numbers, so that no two certificates are equal */
export function simulatedIssuing(random: Random): CertificateIssuing {
  return {
    ...{ random, reviewers: allowsEverything, authorities: { of: () => simulatedAuthority(0) } },
    ...{ durationMs: yearMs, maintain: null },
  }
}

/** Returns a request for the client certificate of a node, in base64. */
export function nodeRequest(number: number): string {
  const keys = keyPair(100 + number)
  const names = { commonName: `system:node:n${number}`, organizations: ['system:nodes'] }
  return Buffer.from(certificateRequest({ ...names, keys })).toString('base64')
}

/** Issues another token each time, so that a second token of one Secret is noticed. */
export function simulatedTokens(random: Random): TokenIssuer {
  return {
    audiences: [],
    issue: () => Promise.reject(new Error('no key')),
    issueForSecret: ({ secretName }) =>
      Promise.resolve(`${secretName}.${Buffer.from(random.bytes(8)).toString('hex')}`),
    isKeyInForce: () => Promise.resolve(true),
  }
}
