/*
 * Goal: the flags decide which authority each signer has, and a wrong file is an error at the start
 * that names it. Method: command lines, and files of authorities that are made here.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { sharesAuthority, signingAuthorities } from '../../../../src/app/signing-authorities.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { SigningAuthorities } from '../../../../src/controllers/certificates/signing.ts'
import { createAuthority } from '../../../../src/pki/authority.ts'
import { privateKeyPem } from '../../../../src/pki/keys.ts'
import type { SignerKind } from '../../../../src/pki/signer-rules.ts'
import { ManualClock } from '../registry/fixture.ts'

const signers = ['apiserverClient', 'apiserverClientNodeAgent', 'nodeAgentServing', 'legacyUnknown'] as const

class Kit {
  readonly clock = new ManualClock()
  readonly #directory = mkdtempSync(join(tmpdir(), 'signers-'))
  readonly warnings: string[] = []

  constructor(t: TestContext) {
    t.after(() => rmSync(this.#directory, { recursive: true }))
  }

  path(name: string): string {
    return join(this.#directory, name)
  }

  /** Writes `NAME.crt` and `NAME.key`. */
  write(name: string, commonName = name): void {
    const validity = { notBeforeMs: Date.UTC(2000, 0, 1), notAfterMs: Date.UTC(2040, 0, 1) }
    const made = createAuthority({ ...validity, commonName, random: new SeededRandom(1) })
    writeFileSync(this.path(`${name}.crt`), made.certificatePem)
    writeFileSync(this.path(`${name}.key`), privateKeyPem(made.privateKey))
  }

  config(...flags: readonly string[]) {
    const loaded = loadConfig({ args: ['--in-memory', ...flags], readFile: () => '' })
    return loaded.kind === 'config' ? loaded.config : assert.fail('a configuration')
  }

  open(...flags: readonly string[]): SigningAuthorities {
    const log = { warn: (fields: object) => void this.warnings.push(JSON.stringify(fields)) }
    const config = this.config(...flags)
    return signingAuthorities({ config, clock: this.clock, log, shared: { signer: null } })
  }

  pair(signer: string, name: string): readonly string[] {
    const flag = signer === '' ? '--cluster-signing' : `--cluster-signing-${signer}`
    return [`${flag}-cert-file=${this.path(`${name}.crt`)}`, `${flag}-key-file=${this.path(`${name}.key`)}`]
  }
}

function nameOf(authorities: SigningAuthorities, signer: SignerKind): string {
  const authority = authorities.of(signer)
  return typeof authority === 'string' ? authority : authority.certificate.subject.commonName
}

void test('without flags the members share the authority of all signers', (t) => {
  const kit = new Kit(t)
  assert.equal(sharesAuthority(kit.config()), true)
  const authorities = kit.open()
  for (const signer of signers) assert.equal(nameOf(authorities, signer), 'not-yet')
})

void test('the flags for all signers name one authority, which is read again when it changes', (t) => {
  const kit = new Kit(t)
  kit.write('ca')
  const authorities = kit.open(...kit.pair('', 'ca'))
  for (const signer of signers) assert.equal(nameOf(authorities, signer), 'ca')
  kit.write('ca', 'renewed')
  kit.clock.advance(20_000)
  assert.equal(nameOf(authorities, 'apiserverClient'), 'renewed')
  writeFileSync(kit.path('ca.crt'), 'damaged')
  kit.clock.advance(20_000)
  assert.equal(nameOf(authorities, 'apiserverClient'), 'renewed')
  assert.match(kit.warnings.join(), /no CERTIFICATE in PEM text/)
})

void test('with flags of single signers only these sign', (t) => {
  const kit = new Kit(t)
  kit.write('client')
  kit.write('serving')
  const flags = [...kit.pair('kubelet-client', 'client'), ...kit.pair('kubelet-serving', 'serving')]
  assert.equal(sharesAuthority(kit.config(...flags)), false)
  const names = signers.map((signer) => nameOf(kit.open(...flags), signer))
  assert.deepEqual(names, ['disabled', 'client', 'serving', 'disabled'])
})

void test('files that cannot sign, and flags that contradict each other, are refused with the flag', (t) => {
  const kit = new Kit(t)
  kit.write('ca')
  kit.write('other')
  const mixed = [kit.pair('', 'ca')[0] ?? '', kit.pair('', 'other')[1] ?? '']
  assert.throws(() => kit.open(...mixed), /--cluster-signing-cert-file .*belongs to another key/)
  assert.throws(() => kit.open(...kit.pair('', 'absent')), /--cluster-signing-cert-file .*absent\.crt/)
  const [certificate = '', key = ''] = kit.pair('kubelet-serving', 'ca')
  const needs = /--cluster-signing-kubelet-serving-cert-file needs --cluster-signing-kubelet-serving-key-file/
  assert.throws(() => kit.config(certificate), needs)
  assert.throws(() => kit.config(key), /-key-file needs --cluster-signing-kubelet-serving-cert-file/)
  assert.throws(
    () => kit.config(...kit.pair('', 'ca'), certificate, key),
    /give either --cluster-signing-cert-file/,
  )
})
