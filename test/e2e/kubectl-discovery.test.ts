/*
 * Goal: kubectl finds and explains every kind, shows warnings for deprecated versions, and refuses
 * unknown fields.
 * Method: a real kubectl against a real process of one member (`long/variants`: in each domain);
 * some switches set by flags.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { apiVersionOf } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { KubectlResult } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()

for (const domain of someDomains) {
  void describe(`kubectl discovery in the ${domain} domain`, () => {
    const kinds = definitionsFor(namesOf(domain))
    const storage = namesOf(domain).group('storage')
    let cluster: ProcessCluster

    before(async () => {
      cluster = await ProcessCluster.start({
        ...{ members: 1, domain },
        config: { 'runtime-config': 'v1/secrets=false', 'feature-gates': 'RemainingItemCount=false' },
      })
    })
    after(() => cluster.remove())

    const run = (args: readonly string[], input?: string): Promise<KubectlResult> =>
      kubectl.run(cluster.kubeconfig, args, input)

    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)

    void test('spec 4.1: every kind is under its group, version and name', async () => {
      const lines = (await ok(['api-resources', '--no-headers', '-o', 'wide'])).trimEnd().split('\n')
      const reported = lines.map((line) => line.trim().split(/\s+/))
      for (const { plural, kind, group, version, ...rest } of kinds) {
        if (plural === 'secrets') continue
        const apiVersion = group === '' ? version : `${group}/${version}`
        const row = reported.find((words) => words[0] === plural && words.includes(kind))
        assert.ok(row !== undefined, `${apiVersion} ${plural}`)
        for (const short of rest.shortNames) assert.ok(row.join(' ').includes(short), plural)
      }
      const versions = (await ok(['api-versions'])).trimEnd().split('\n')
      assert.deepEqual(versions.toSorted(), [...new Set(kinds.map(apiVersionOf))].toSorted())
    })

    void test('kubectl 1.27 and later discover all groups with two requests', async () => {
      const { stderr } = await run(['api-resources', '-v=6'])
      const paths = [...stderr.matchAll(/https:\/\/[^\s"?/]+(\/api[^\s"?]*)/g)].map(([, path]) => path)
      const minor = Number(/^v1\.(\d+)/.exec(kubectl.version)?.[1] ?? 0)
      if (minor >= 27) assert.deepEqual(paths.toSorted(), ['/api', '/apis'])
      else assert.ok(paths.length > 2)
    })

    void test('explain --recursive shows every kind', async () => {
      for (const { plural, group, version, kind } of kinds) {
        if (plural === 'secrets') continue
        const place = group === '' ? [] : ['--api-version', `${group}/${version}`]
        const text = await ok(['explain', plural, '--recursive', ...place])
        assert.match(text, new RegExp(`KIND:\\s+${kind}`), plural)
        assert.match(text, /metadata/, plural)
      }
    })

    void test('spec 9.3: APIs disabled by the runtime configuration are not served', async () => {
      const gone = await run(['get', '--raw', '/api/v1/namespaces/default/secrets'])
      assert.notEqual(gone.code, 0)
      assert.doesNotMatch(await ok(['get', '--raw', '/api/v1']), /secrets/)
      const page = await ok(['get', '--raw', '/api/v1/namespaces?limit=1'])
      assert.match(page, /"continue"/)
      assert.doesNotMatch(page, /remainingItemCount/)
    })

    void test('spec 9.6: a deprecated version gets a warning and a metric, and its objects are served in the stable version', async () => {
      const manifest = [
        `apiVersion: ${storage}/v1beta1`,
        'kind: CSIStorageCapacity',
        'metadata: {name: here, namespace: default}',
        'storageClassName: fast',
        'capacity: 5Gi',
      ].join('\n')
      const made = await run(['create', '-f', '-'], manifest)
      assert.equal(made.code, 0, made.stderr)
      assert.match(
        made.stderr,
        /v1beta1 CSIStorageCapacity is deprecated in v1\.24\+, unavailable in v1\.27\+; use /,
      )
      const stable = await run(['get', `csistoragecapacities.v1.${storage}`, 'here', '-o', 'yaml'])
      assert.match(stable.stdout, new RegExp(`apiVersion: ${storage}/v1\\n`))
      assert.match(stable.stdout, /capacity: 5Gi/)
      assert.equal(stable.stderr, '')
      const metrics = await ok(['get', '--raw', '/metrics'])
      const labels = `group="${storage}",version="v1beta1",resource="csistoragecapacities",subresource=""`
      assert.ok(metrics.includes(`apiserver_requested_deprecated_apis{${labels},removed_release="1.27"} 1`))
    })

    void test('create --validate=strict refuses a field that no kind has', async () => {
      const manifest = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: strict}\ndta: {a: b}\n'
      const refused = await run(['create', '--validate=strict', '-f', '-'], manifest)
      assert.notEqual(refused.code, 0)
      assert.match(refused.stderr, /unknown field "dta"/)
    })
  })
}
