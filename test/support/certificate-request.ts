import { sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import {
  bitString,
  decodeDer,
  encodeDer,
  integer,
  objectIdentifier,
  sequence,
  taggedNodes,
} from '../../src/pki/der.ts'
import { generateKeyPair } from '../../src/pki/keys.ts'
import type { KeyPair } from '../../src/pki/keys.ts'
import { encodeSubject } from '../../src/pki/names.ts'
import { toPem } from '../../src/pki/pem.ts'

/**
 * A PKCS #10 request in PEM.
 *
 * @param of keys: elliptic or Ed25519; signer unset: the key that the request is about, as it has to be
 */
export function certificateRequest(of: {
  readonly commonName: string
  readonly organizations?: readonly string[]
  readonly keys?: KeyPair
  readonly signer?: KeyObject
}): string {
  const { commonName, organizations = [], keys = generateKeyPair() } = of
  const key = decodeDer(keys.publicKey.export({ type: 'spki', format: 'der' }))
  const subject = encodeSubject({ commonName, organizations })
  const info = sequence(integer(Uint8Array.of(0)), subject, key, taggedNodes(0))
  const elliptic = keys.privateKey.asymmetricKeyType === 'ec'
  const algorithm = sequence(objectIdentifier(elliptic ? '1.2.840.10045.4.3.2' : '1.3.101.112'))
  const signature = sign(elliptic ? 'sha256' : null, encodeDer(info), of.signer ?? keys.privateKey)
  return toPem('CERTIFICATE REQUEST', encodeDer(sequence(info, algorithm, bitString(signature))))
}
