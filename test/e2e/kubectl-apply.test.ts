/*
 * Goal: the commands of kubectl that apply, edit, replace and scale objects record owners as with
 * upstream, and objects move from client-side to server-side apply.
 * Method: a real kubectl against a real process (`long/variants`: in each domain).
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'
import { someDomains } from '../support/fixtures/variants.ts'

const kubectl = Kubectl.find()

/** @param data members of its data as YAML */
const cm = (name: string, data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {set: pruned}}\ndata: {${data}}\n`

for (const domain of someDomains) {
  void describe(`kubectl records owners in the ${domain} domain`, () => {
    const names = namesOf(domain)
    let cluster: ProcessCluster

    before(async () => {
      cluster = await ProcessCluster.start({ members: 1, domain })
    })
    after(() => cluster.remove())

    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)
    const get = (path: string, ...object: readonly string[]): Promise<string> =>
      ok(['get', ...object, `-o=jsonpath={${path}}`, '--show-managed-fields'])
    const owners = async (...object: readonly string[]): Promise<readonly string[]> => {
      const entries = '.metadata.managedFields[*]'
      const manager = (await get(`${entries}.manager`, ...object)).split(' ')
      const operation = (await get(`${entries}.operation`, ...object)).split(' ')
      return manager.map((name, at) => `${name} ${operation[at] ?? ''}`).sort()
    }

    void test('spec 4.10: each command is a manager of its own: create, edit, label, replace', async () => {
      await ok(['create', '-f', '-'], cm('owned', 'a: one, b: two'))
      assert.deepEqual(await owners('cm', 'owned'), ['kubectl-create Update'])
      await ok(['label', 'cm', 'owned', 'more=1'])
      process.env['KUBE_EDITOR'] = 'sed -i s/two/three/'
      await ok(['edit', 'cm', 'owned']).finally(() => delete process.env['KUBE_EDITOR'])
      const all = ['kubectl-create Update', 'kubectl-edit Update', 'kubectl-label Update']
      assert.deepEqual(await owners('cm', 'owned'), all)
      const before = await get('.metadata.managedFields', 'cm', 'owned')
      await ok(['label', 'cm', 'owned', 'more=1', '--overwrite'])
      assert.equal(await get('.metadata.managedFields', 'cm', 'owned'), before)
      await ok(['replace', '--force', '-f', '-'], cm('owned', 'a: "1"'))
      assert.deepEqual(await owners('cm', 'owned'), ['kubectl-replace Update'])
    })

    void test('an object moves from client-side to server-side apply, which then removes its fields', async () => {
      await ok(['apply', '-f', '-'], cm('moved', 'a: "1", b: "1"'))
      assert.deepEqual(await owners('cm', 'moved'), ['kubectl-client-side-apply Update'])
      await ok(['apply', '--server-side', '-f', '-'], cm('moved', 'a: "1", b: "1"'))
      await ok(['apply', '--server-side', '-f', '-'], cm('moved', 'a: "2"'))
      assert.deepEqual(JSON.parse(await get('.data', 'cm', 'moved')), { a: '2' })
      assert.ok((await owners('cm', 'moved')).includes('kubectl Apply'))
    })

    void test('apply --prune deletes what the files do not have any more', async () => {
      const prune = ['apply', '--prune', '-l', 'set=pruned', '--prune-allowlist=core/v1/ConfigMap', '-f', '-']
      await ok(prune, `${cm('kept', 'a: "1"')}---\n${cm('gone', 'a: "1"')}`)
      const seen = await ok(prune, cm('kept', 'a: "1"'))
      assert.match(seen, /configmap\/kept unchanged/)
      assert.match(seen, /configmap\/gone pruned/)
      assert.equal(await ok(['get', 'cm', 'gone', '--ignore-not-found']), '')
    })

    void test('spec 4.10: scale makes its manager the owner of the replica count', async () => {
      const paths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
      const spec = { type: 'object', properties: { replicas: { type: 'integer' }, size: { type: 'string' } } }
      const status = { type: 'object', properties: { replicas: { type: 'integer' } } }
      const schema = { openAPIV3Schema: { type: 'object', properties: { spec, status } } }
      const definition = {
        apiVersion: `${names.group('apiextensions')}/v1`,
        kind: 'CustomResourceDefinition',
        metadata: { name: 'sets.test.example' },
        spec: {
          ...{ group: 'test.example', scope: 'Namespaced', names: { plural: 'sets', kind: 'Set' } },
          versions: [
            { name: 'v1', served: true, storage: true, schema, subresources: { status: {}, scale: paths } },
          ],
        },
      }
      await ok(['create', '-f', '-'], JSON.stringify(definition))
      await until('the kind is served', async () => {
        const served = await kubectl.run(cluster.kubeconfig, ['get', 'sets'])
        return served.code === 0
      })
      const object = { apiVersion: 'test.example/v1', kind: 'Set', metadata: { name: 's' } }
      await ok(['create', '-f', '-'], JSON.stringify({ ...object, spec: { replicas: 1, size: 'x' } }))
      await ok(['scale', 'sets/s', '--replicas=3'])
      assert.equal(await get('.spec.replicas', 'sets', 's'), '3')
      assert.deepEqual(await owners('sets', 's'), ['kubectl Update', 'kubectl-create Update'])
      assert.equal(
        await get('.metadata.managedFields[?(@.manager=="kubectl")].subresource', 'sets', 's'),
        'scale',
      )
    })
  })
}
