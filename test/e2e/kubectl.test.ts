/*
 * Goal: kubectl works unchanged, and writes through one member are visible on another.
 * Method: a real kubectl against three real processes, in both domains; its typed verbs in k8s.io,
 * its dynamic ones in orch.io.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { KubectlResult } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()
console.log(`# kubectl ${kubectl.version}`)

function tenConfigMaps(namespace: string, value: string): string {
  return Array.from({ length: 10 }, (_, at) =>
    [
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata:',
      `  name: item-${at}`,
      `  namespace: ${namespace}`,
      '  labels: {part: list}',
      'data:',
      `  value: "${value}"`,
    ].join('\n'),
  ).join('\n---\n')
}

for (const domain of ['k8s.io', 'orch.io'] as const) {
  void describe(`kubectl in the ${domain} domain`, () => {
    let cluster: ProcessCluster

    before(async () => {
      cluster = await ProcessCluster.start({ members: 3, domain })
    })
    after(() => cluster.remove())

    const run = (args: readonly string[], input?: string): Promise<KubectlResult> =>
      kubectl.run(cluster.kubeconfig, args, input)

    const ok = (args: readonly string[], input?: string): Promise<string> =>
      kubectl.ok(cluster.kubeconfig, args, input)

    void test('kubectl shows the kinds with their short names, the namespaces and the version', async () => {
      const resources = await ok(['api-resources'])
      for (const [plural, short] of [
        ['configmaps', 'cm'],
        ['namespaces', 'ns'],
        ['secrets', ''],
      ] as const) {
        assert.match(resources, new RegExp(`^${plural}\\s+${short}`, 'm'))
      }
      assert.match(
        await ok(['get', 'ns', '-o', 'custom-columns=N:.metadata.name,P:.status.phase']),
        /default\s+Active/,
      )
      assert.match(await ok(['get', 'ns']), /^NAME +STATUS +AGE\ndefault +Active +[0-9a-z]+\n/)
      assert.match(await ok(['get', '--raw', '/version']), /"major": ?"1"/)
    })

    void test('a watch on one member shows create, patch, label and delete made on another', async () => {
      await ok(['--context', 'n1', 'create', 'ns', 'seen'])
      await ok(['--context', 'n1', '-n', 'seen', 'create', 'cm', 'before'])
      const follow = kubectl.follow(cluster.kubeconfig, [
        '--context',
        'n2',
        '-n',
        'seen',
        'get',
        'cm',
        '-w',
        '--output-watch-events',
      ])
      try {
        // After its list the watch shows all further changes.
        await until(
          'it has listed',
          () => follow.lines.some((line) => line.includes('before')),
          follow.reported,
        )
        const typed = domain === 'k8s.io'
        const manifest =
          'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: thing, namespace: seen}\ndata: {a: "1"}\n'
        if (typed)
          await ok(['--context', 'n1', '-n', 'seen', 'create', 'configmap', 'thing', '--from-literal=a=1'])
        else await ok(['--context', 'n1', 'create', '-f', '-'], manifest)
        await ok([
          '--context',
          'n3',
          '-n',
          'seen',
          'patch',
          'cm',
          'thing',
          '--type=merge',
          '-p',
          '{"data":{"a":"2"}}',
        ])
        await ok(['--context', 'n1', '-n', 'seen', 'label', 'cm', 'thing', 'colour=blue'])
        assert.match(
          await ok(['--context', 'n2', '-n', 'seen', 'get', 'cm', '-l', 'colour=blue', '-o', 'name']),
          /thing/,
        )
        await ok(['--context', 'n3', '-n', 'seen', 'delete', 'cm', 'thing'])
        const wanted = ['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED']
        const seen = (): string[] =>
          follow.lines
            .filter((line) => line.includes('thing'))
            .map((line) => line.trim().split(/\s+/)[0] ?? '')
        await until('it shows all', () => seen().length >= wanted.length, follow.reported)
        assert.deepEqual(seen(), wanted)
      } finally {
        follow.child.kill('SIGTERM')
      }
    })

    void test('apply of ten objects creates them, a second apply leaves them unchanged, a third configures', async () => {
      await ok(['create', '-f', '-'], 'apiVersion: v1\nkind: Namespace\nmetadata: {name: many}\n')
      const count = (text: string, word: string): number =>
        text.split('\n').filter((line) => line.endsWith(` ${word}`)).length
      assert.equal(count(await ok(['apply', '-f', '-'], tenConfigMaps('many', '1')), 'created'), 10)
      assert.equal(
        count(await ok(['--context', 'n2', 'apply', '-f', '-'], tenConfigMaps('many', '1')), 'unchanged'),
        10,
      )
      assert.equal(
        count(await ok(['--context', 'n3', 'apply', '-f', '-'], tenConfigMaps('many', '2')), 'configured'),
        10,
      )
      assert.equal(
        (await ok(['-n', 'many', 'get', 'cm', '-l', 'part=list', '-o', 'name'])).trim().split('\n').length,
        10,
      )
    })

    void test('deleting a namespace deletes its objects', async () => {
      await ok(['create', '-f', '-'], 'apiVersion: v1\nkind: Namespace\nmetadata: {name: doomed}\n')
      await ok(['apply', '-f', '-'], tenConfigMaps('doomed', 'x'))
      await ok(['delete', 'ns', 'doomed', '--timeout=100s'])
      const gone = await run(['get', 'ns', 'doomed'])
      assert.match(gone.stderr, /NotFound/)
      assert.equal((await ok(['get', 'cm', '-A', '-o', 'name'])).includes('doomed'), false)
    })

    void test('a manifest with an unknown field is refused before it is stored', async () => {
      const wrong =
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd, namespace: default}\ndata: {a: "1"}\nspec: {}\n'
      const result = await run(['create', '-f', '-', '--validate=true'], wrong)
      assert.notEqual(result.code, 0)
      assert.match(result.stderr, /unknown field/)
    })

    void test('oversized objects are refused with a clear message, and --as acts as another user', async () => {
      const huge = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: huge, namespace: default}\ndata: {x: "${'y'.repeat(3_400_000)}"}\n`
      const large = await run(['create', '-f', '-', '--validate=false'], huge)
      assert.notEqual(large.code, 0)
      assert.match(large.stderr, /too large/i)
      const other = await run(['get', 'cm', '--as=bob'])
      assert.notEqual(other.code, 0)
      assert.match(other.stderr, /User "bob" cannot list resource "configmaps"/)
    })

    void test('spec 4.5: readyz lists its checks on every member', async () => {
      for (const { name } of cluster.members) {
        const text = await ok(['--context', name, 'get', '--raw', '/readyz?verbose'])
        assert.match(text, /\[\+\]ping ok/)
        assert.match(text, /\[\+\]leader ok/)
        assert.match(text, /healthz check passed\s*$/)
      }
    })

    void test('explain shows the fields of a kind', async () => {
      assert.match(await ok(['explain', 'configmap.data']), /KIND:\s+ConfigMap/)
    })
  })
}
