/*
 * Goal: a chain of certificates is valid for a purpose only when every rule holds, whatever else
 * the caller sends; an authority of one purpose does not count for another.
 * Method: chains made by hand, each with one flaw, compared with openssl where it is installed.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createPublicKey, X509Certificate, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { derNull } from '../../../../src/pki/der.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import { readTrustBundle } from '../../../../src/pki/trust-bundle.ts'
import { verifyChain } from '../../../../src/pki/verify-chain.ts'
import type { ChainVerdict } from '../../../../src/pki/verify-chain.ts'
import { nameConstraints, oddCertificate } from '../../../support/fixtures/custom-certificate.ts'
import type { Odd, OddOptions } from '../../../support/fixtures/custom-certificate.ts'

const nowMs = Date.UTC(2030, 0, 1)
const dayMs = 24 * 3_600_000
const clientUsage = '1.3.6.1.5.5.7.3.2'
const serverUsage = '1.3.6.1.5.5.7.3.1'
const validity = { notBeforeMs: nowMs - 10 * dayMs, notAfterMs: nowMs + 10 * dayMs }

function make(name: string, issuer: Odd | null, more: Partial<OddOptions> = {}): Odd {
  return oddCertificate(name, { issuer, ...validity, ...more })
}

function root(name = 'root', more: Partial<OddOptions> = {}): Odd {
  return make(name, null, { authority: true, ...more })
}

function client(issuer: Odd, more: Partial<OddOptions> = {}): Odd {
  return make('kate', issuer, { usages: [clientUsage], organizations: ['team'], ...more })
}

function verify(presented: readonly Odd[], authorities: readonly Odd[], atMs = nowMs): ChainVerdict {
  const bundle = readTrustBundle(authorities.map(({ pem }) => pem).join(''))
  return verifyChain(
    presented.map(({ pem }) => new X509Certificate(pem)),
    'client',
    bundle,
    atMs,
  )
}

/** Returns whether openssl accepts the chain; null where it is not installed. */
function openssl(presented: readonly Odd[], authorities: readonly Odd[]): boolean | null {
  if (spawnSync('openssl', ['version']).status !== 0) return null
  const directory = mkdtempSync(join(tmpdir(), 'orch-chain-'))
  try {
    const [leaf, ...others] = presented
    const file = (name: string, list: readonly Odd[]): string => {
      const path = join(directory, name)
      writeFileSync(path, list.map(({ pem }) => pem).join(''))
      return path
    }
    const untrusted = others.length === 0 ? [] : ['-untrusted', file('others.pem', others)]
    const ran = spawnSync('openssl', [
      ...[
        'verify',
        '-partial_chain',
        '-purpose',
        'sslclient',
        '-auth_level',
        '1',
        '-attime',
        `${nowMs / 1000}`,
      ],
      ...['-no-CApath', '-CAfile', file('authorities.pem', authorities), ...untrusted],
      file('leaf.pem', leaf === undefined ? [] : [leaf]),
    ])
    return ran.status === 0
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

type Row = {
  readonly presented: readonly Odd[]
  readonly authorities: readonly Odd[]
  /** The reason of the refusal; null: the chain is trusted. */
  readonly refused: RegExp | null
  /** Why this server refuses a chain that openssl accepts. */
  readonly stricter?: string
}

const [ca, other] = [root(), root('other')]
const middle = make('middle', ca, { authority: 0, usages: [clientUsage] })
const deeper = make('deeper', middle, { authority: true })
const weakKeys = generateKeyPairSync('rsa', { modulusLength: 512 })

/** A client of an intermediate authority with this key, which it sends along. */
function clientOfKey(keys: Odd['keys']): readonly Odd[] {
  const middleWithKey = make('middle with key', ca, { authority: true, keys })
  return [client(middleWithKey), middleWithKey]
}

const rsaKeys = (publicExponent: number): Odd['keys'] =>
  generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent })

/** Returns a public key whose signatures are the signed texts, and a private key of another one. */
function withoutProof(): Odd['keys'] {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...publicKey.export({ format: 'jwk' }), e: 'AQ' }
  return { publicKey: createPublicKey({ key, format: 'jwk' }), privateKey }
}

const rows: Readonly<Record<string, Row>> = {
  'a client of the authority': { presented: [client(ca)], authorities: [ca], refused: null },
  'a client without usages': {
    presented: [make('kate', ca)],
    authorities: [other, ca],
    refused: null,
  },
  'a client of an intermediate authority that it sends along': {
    presented: [client(middle), middle],
    authorities: [ca],
    refused: null,
  },
  'a client that sends others along, in any order': (() => {
    const mid = make('mid', ca, { authority: true })
    const low = make('low', mid, { authority: true })
    return { presented: [client(low), other, mid, low], authorities: [ca], refused: null }
  })(),
  'a client that leaves out one of two intermediate authorities': {
    presented: [client(deeper), deeper],
    authorities: [ca],
    refused: /no authority of the bundle/,
  },
  'an intermediate authority of the bundle, without its root': {
    presented: [client(middle)],
    authorities: [middle],
    refused: null,
  },
  'a certificate that is in the bundle itself': (() => {
    const self = make('kate', null, { usages: [clientUsage] })
    return { presented: [self], authorities: [ca, self], refused: null }
  })(),
  'another authority': {
    presented: [client(other)],
    authorities: [ca],
    refused: /no authority of the bundle/,
  },
  'another authority of the same name': {
    presented: [client(root())],
    authorities: [ca],
    refused: /no authority of the bundle/,
  },
  'an authority of its own, sent along': {
    presented: [client(other), other],
    authorities: [ca],
    refused: /no authority of the bundle/,
  },
  'a server': {
    presented: [client(ca, { usages: [serverUsage] })],
    authorities: [ca],
    refused: /certificate 1 of the chain is not meant for clients/,
  },
  'an expired client': {
    presented: [client(ca, { notAfterMs: nowMs - dayMs })],
    authorities: [ca],
    refused: /certificate 1 of the chain has expired/,
  },
  'a client whose certificate becomes valid tomorrow': {
    presented: [client(ca, { notBeforeMs: nowMs + dayMs })],
    authorities: [ca],
    refused: /certificate 1 of the chain is not valid yet/,
  },
  'an expired authority': (() => {
    const expired = root('expired', { notAfterMs: nowMs - dayMs })
    return { presented: [client(expired)], authorities: [expired], refused: /certificate 2 .* has expired/ }
  })(),
  'an expired authority and its renewed certificate': (() => {
    const expired = root('ca', { notAfterMs: nowMs - dayMs })
    const renewed = root('ca', { keys: expired.keys })
    return { presented: [client(expired)], authorities: [expired, renewed], refused: null }
  })(),
  'another client as authority': (() => {
    const lena = make('lena', ca, { usages: [clientUsage] })
    return {
      presented: [client(lena), lena],
      authorities: [ca],
      refused: /certificate 2 .* is not a CA certificate/,
    }
  })(),
  'a certificate that is not an authority': (() => {
    const plain = make('plain', ca, { authority: false })
    return {
      presented: [client(plain), plain],
      authorities: [ca],
      refused: /certificate 2 .* is not a CA certificate/,
    }
  })(),
  'an authority that may not sign certificates': (() => {
    const mute = make('mute', ca, { authority: true, keyUsage: 0b1000_0000 })
    return { presented: [client(mute), mute], authorities: [ca], refused: /no authority/ }
  })(),
  'more intermediate authorities than one allows': {
    presented: [client(deeper), deeper, middle],
    authorities: [ca],
    refused: /certificate 3 .* allows only shorter chains/,
  },
  'a usage that an intermediate authority does not allow': (() => {
    const servers = make('servers', ca, { authority: true, usages: [serverUsage] })
    return {
      presented: [client(servers), servers],
      authorities: [ca],
      refused: /certificate 2 .* not meant for clients/,
    }
  })(),
  'a signature of SHA-1': {
    presented: [client(ca, { digest: 'sha1' })],
    authorities: [ca],
    refused: /certificate 1 .* weak signature/,
  },
  'a key of 512 bits': {
    presented: [client(ca, { keys: weakKeys })],
    authorities: [ca],
    refused: /certificate 1 .* weak key/,
  },
  'an RSA key with the exponent 1': {
    presented: [client(ca, { keys: withoutProof() })],
    authorities: [ca],
    refused: /certificate 1 .* weak key/,
    stricter: 'its signatures can be made without a private key',
  },
  'an intermediate authority with an RSA key': {
    presented: clientOfKey(rsaKeys(65_537)),
    authorities: [ca],
    refused: null,
  },
  'an intermediate authority with an RSA key of a large exponent': {
    presented: clientOfKey(rsaKeys(4_294_967_291)),
    authorities: [ca],
    refused: /no authority of the bundle/,
    stricter: 'exponents of any size make signatures slow to verify',
  },
  'an intermediate authority with an unusual curve': {
    presented: clientOfKey(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })),
    authorities: [ca],
    refused: /no authority of the bundle/,
    stricter: 'other curves may be slow',
  },
  'an unknown critical extension': {
    presented: [client(ca, { more: [{ id: '1.2.3.4', isCritical: true, value: derNull() }] })],
    authorities: [ca],
    refused: /certificate 1 .* critical extension 1\.2\.3\.4/,
  },
  'an extension that need not be known': {
    presented: [client(ca, { more: [{ id: '1.2.3.4', isCritical: false, value: derNull() }] })],
    authorities: [ca],
    refused: null,
  },
  'an authority with name constraints': (() => {
    const more = [{ id: '2.5.29.30', isCritical: false, value: nameConstraints('example.org') }]
    const narrow = root('narrow', { more })
    return {
      ...{ presented: [client(narrow)], authorities: [narrow], refused: /certificate 2 .* name constraints/ },
      stricter: 'it has no names that the constraints are about',
    }
  })(),
}

for (const [what, { presented, authorities, refused, stricter }] of Object.entries(rows)) {
  void test(`a chain is ${refused === null ? 'trusted' : 'refused'}: ${what}`, () => {
    const verdict = verify(presented, authorities)
    if (refused === null) assert.equal(verdict.kind, 'trusted', JSON.stringify(verdict))
    else assert.match(verdict.kind === 'refused' ? verdict.reason : 'trusted', refused)
    const reported = openssl(presented, authorities)
    if (reported !== null && stricter === undefined) assert.equal(reported, refused === null, 'openssl')
  })
}

void test('a verdict has the subject, the authority and the expiry', () => {
  const short = make('short', ca, { authority: true, notAfterMs: nowMs + dayMs })
  const verdict = verify([client(short), short], [other, ca])
  assert.ok(verdict.kind === 'trusted')
  assert.deepEqual(verdict.leaf.subject, { commonName: 'kate', organizations: ['team'] })
  assert.equal(verdict.untilMs, nowMs + dayMs)
  const print = new X509Certificate(ca.pem).fingerprint256.replaceAll(':', '').toLowerCase()
  assert.equal(verdict.authority, print)
})

void test('many authorities of one name and key cost a bounded number of signatures', () => {
  const twins = Array.from({ length: 15 }, () => make('twin', null, { authority: true, keys: other.keys }))
  const leaf = oddCertificate('kate', { issuer: { ...other, name: 'twin' }, ...validity })
  // Each of the 15 issued the others, so there are more than 10^9 paths. Without a bound on
  // signatures this call would not return within the time of the file.
  assert.equal(verify([leaf, ...twins], [ca]).kind, 'refused')
  assert.equal(verify([leaf, ...twins, ...twins], [ca]).kind, 'refused', 'too many')
})

void test('a bundle with an unreadable certificate is rejected', () => {
  const good = root().pem
  assert.equal(readTrustBundle(`# ours\n${good}\n${root('two').pem}`).authorities.length, 2)
  for (const [text, says] of [
    ['', /no CERTIFICATE/],
    [good.slice(0, -30), /has no end/],
    [good + root().pem.slice(0, 200), /has no end/],
    [`${good}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`, /certificate 2: /],
    [`${good}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`, /block 2 is no CERTIFICATE/],
  ] as const) {
    assert.throws(
      () => readTrustBundle(text),
      (cause) => cause instanceof PkiError && says.test(cause.message),
    )
  }
})
