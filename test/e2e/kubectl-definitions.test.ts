/*
 * Goal: a user installs definitions as packages ship them by server-side apply with kubectl, and
 * kubectl creates, shows, selects and scales their objects, and shows why some are refused.
 * Method: a real kubectl against one real process without a disk (`long/variants`: in each domain);
 * definitions in the style of these packages (`support/fixtures/definitions`).
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { stringify } from 'yaml'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { definitionSamples } from '../support/fixtures/definitions/all.ts'
import { certificates } from '../support/fixtures/definitions/certificates.ts'
import { gateways } from '../support/fixtures/definitions/gateways.ts'
import { monitors } from '../support/fixtures/definitions/monitors.ts'
import { definitionOf, objectOfSample } from '../support/fixtures/definitions/sample.ts'
import type { DefinitionSample } from '../support/fixtures/definitions/sample.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()
console.log(`# kubectl ${kubectl.version}`)
const [, minor = 0] = kubectl.version.replace('v', '').split('.').map(Number)
/** Older versions validate on the client, and accept only `true`. */
const strict = minor >= 25 ? '--validate=strict' : '--validate=true'

const all = ({ plural, group }: DefinitionSample): string => `${plural}.${group}`
/** YAML, as packages ship them. */
const documents = (objects: readonly JsonObject[]): string =>
  objects.map((object) => stringify(object, { version: '1.1', aliasDuplicateObjects: false })).join('---\n')

for (const domain of someDomains) {
  void describe(`definitions of packages in the ${domain} domain`, () => {
    const names = namesOf(domain)
    let cluster: ProcessCluster

    before(async () => {
      const config = { 'data-dir': '', 'in-memory': true }
      cluster = await ProcessCluster.start({ members: 1, domain, config })
    })
    after(() => cluster.remove())

    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)

    void test('kubectl applies all definitions in strict mode, and they are established', async () => {
      const body = documents(definitionSamples.map((sample) => definitionOf(names, sample)))
      const apply = ['apply', '--server-side', strict, '-f', '-']
      const applied = await ok(apply, body)
      assert.equal(applied.match(/serverside-applied/g)?.length, definitionSamples.length, applied)
      const crds = definitionSamples.map(
        (sample) => `customresourcedefinitions.${names.group('apiextensions')}/${all(sample)}`,
      )
      await ok(['wait', '--for=condition=Established', ...crds, '--timeout=100s'])
    })

    void test('kubectl creates valid objects of every definition', async () => {
      const objects = definitionSamples.flatMap((sample) =>
        sample.valid.map((spec, index) => objectOfSample(sample, `valid-${index}`, spec)),
      )
      const made = await ok(['apply', strict, '-f', '-'], documents(objects))
      assert.equal(made.trim().split('\n').length, objects.length, made)
    })

    // The rest does not depend on the domain.
    if (domain === 'orch.io') return

    for (const sample of definitionSamples) {
      void test(`kubectl shows why objects and changes of a ${sample.kind} are refused`, async () => {
        const objects = sample.invalid.map(({ spec }, index) =>
          objectOfSample(sample, `invalid-${index}`, spec),
        )
        const { code, stderr } = await kubectl.run(
          ...([cluster.kubeconfig, ['create', '--validate=false', '-f', '-'], documents(objects)] as const),
        )
        assert.equal(code, 1)
        for (const { what, words } of sample.invalid) assert.ok(stderr.includes(words), `${what}\n${stderr}`)
        assert.equal(stderr.match(/ is invalid: /g)?.length, objects.length, stderr)
        for (const { what, spec, refusal } of sample.changes.slice(0, 1)) {
          const patch = ['patch', all(sample), 'valid-0', '--type=merge', '-p', JSON.stringify({ spec })]
          const changed = await kubectl.run(cluster.kubeconfig, patch)
          assert.equal(changed.code, refusal === null ? 0 : 1, `${what}\n${changed.stderr}`)
          if (refusal !== null) assert.ok(changed.stderr.includes(refusal), changed.stderr)
        }
      })
    }

    void test('kubectl shows columns, selects by fields, explains and scales', async () => {
      const shown = await ok(['get', all(gateways)])
      assert.match(shown, /^NAME +CLASS +ADDRESS +PROGRAMMED +AGE\nvalid-0 +fast +/)
      const selector = '--field-selector=spec.issuer.kind=ClusterIssuer'
      assert.equal(
        await ok(['get', all(certificates), selector, '-o', 'name']),
        `seal.${certificates.group}/valid-1\n`,
      )
      assert.match(await ok(['explain', `${certificates.plural}.spec.issuer`]), /kind\s+<string>/)
      await ok(['scale', all(monitors), 'valid-0', '--replicas=5'])
      assert.match(await ok(['get', all(monitors)]), /^NAME +DESIRED +LEVEL\nvalid-0 +5 +info/)
    })
  })
}
